package jobs_test

import (
	"testing"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
	"doze/jobs"
)

// sleeper is the smallest job with a group that opted in.
func sleeper() *nomad.Job {
	job := nomad.NewServiceJob("shop", "shop", "global", 50)
	job.AddTaskGroup(&nomad.TaskGroup{
		Name:     new("web"),
		Count:    new(2),
		Networks: []*nomad.NetworkResource{{DynamicPorts: []nomad.Port{{Label: "http"}}}},
		Scaling: &nomad.ScalingPolicy{
			Min: new(int64(0)), Max: new(int64(3)),
			Policy: map[string]any{"doze": []any{map[string]any{}}},
		},
	})
	return job
}

func TestReadGroup_optedIn_isManaged(t *testing.T) {
	job := sleeper()
	job.Namespace = new("prod")
	got, wrong := jobs.ReadGroup(job, job.TaskGroups[0])
	if got == nil || len(wrong) > 0 {
		t.Fatalf("got %+v, %v", got, wrong)
	}
	want := idle.GroupID{Namespace: "prod", Job: "shop", Group: "web"}
	if got.ID != want || got.Min != 0 || got.Max != 3 || got.Count != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestReadGroup_notOptedIn_isLeftAloneSilently(t *testing.T) {
	for name, change := range map[string]func(*nomad.TaskGroup){
		"no scaling":   func(g *nomad.TaskGroup) { g.Scaling = nil },
		"no policy":    func(g *nomad.TaskGroup) { g.Scaling.Policy = nil },
		"other policy": func(g *nomad.TaskGroup) { g.Scaling.Policy = map[string]any{"check": 1} },
		"null":         func(g *nomad.TaskGroup) { g.Scaling.Policy["doze"] = nil },
		"disabled": func(g *nomad.TaskGroup) {
			g.Scaling.Enabled = new(false)
			g.Scaling.Policy["doze"] = "nonsense"
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := sleeper()
			change(job.TaskGroups[0])
			if got, wrong := jobs.ReadGroup(job, job.TaskGroups[0]); got != nil || wrong != nil {
				t.Errorf("got %+v, %v", got, wrong)
			}
		})
	}
	if got, wrong := jobs.ReadGroup(nil, nil); got != nil || wrong != nil {
		t.Errorf("got %+v, %v", got, wrong)
	}
}

func TestReadGroup_misspeltDoze_isTold(t *testing.T) {
	job := sleeper()
	job.TaskGroups[0].Scaling.Policy = map[string]any{"dose": []any{}, "check": []any{}}
	got, wrong := jobs.ReadGroup(job, job.TaskGroups[0])
	want := `group "web" > scaling > policy > dose: "dose" is not a block of Doze; ` +
		`did you mean doze?`
	if got != nil || wrong.Error() != want {
		t.Errorf("got %+v, %v", got, wrong)
	}
}

// A group may be born asleep; min left out means the count, as in Nomad.
func TestReadGroup_countAndMinLeftOut_areWhatNomadTakes(t *testing.T) {
	job := sleeper()
	g := job.TaskGroups[0]
	g.Count = nil
	if got, wrong := jobs.ReadGroup(job, g); got == nil || got.Count != 0 {
		t.Errorf("min = 0 without count: got %+v, %v", got, wrong)
	}
	g.Count, g.Scaling.Min = new(2), nil
	_, wrong := jobs.ReadGroup(job, g)
	if len(wrong) != 1 || wrong[0].Path != `group "web" > scaling > min` {
		t.Errorf("count = 2 without min: got %v", wrong)
	}
	g.Count = new(0)
	if got, wrong := jobs.ReadGroup(job, g); got == nil {
		t.Errorf("count = 0 without min: got %v", wrong)
	}
}
