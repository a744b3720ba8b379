package jobs

import (
	"encoding/json"
	"reflect"
	"testing"

	nomad "github.com/hashicorp/nomad/api"
)

// What a listing decodes of a job is enough to read the same from it as from the whole.
// Mutation: leave a field that ReadGroup looks at out of jobView, and this fails.
func TestVersionOf_viewOfAJob_saysTheSameAsTheJob(t *testing.T) {
	for name, change := range map[string]func(*nomad.Job){
		"as it is":      func(*nomad.Job) {},
		"batch":         func(j *nomad.Job) { j.Type = new("batch") },
		"periodic":      func(j *nomad.Job) { j.Periodic = &nomad.PeriodicConfig{} },
		"parameterized": func(j *nomad.Job) { j.ParameterizedJob = &nomad.ParameterizedJobConfig{} },
		"two ports": func(j *nomad.Job) {
			n := j.TaskGroups[0].Networks[0]
			n.ReservedPorts = []nomad.Port{{Label: "admin", Value: 9000}}
		},
		"no count":  func(j *nomad.Job) { j.TaskGroups[0].Count = nil },
		"disabled":  func(j *nomad.Job) { j.TaskGroups[0].Scaling.Enabled = new(false) },
		"misspelt":  func(j *nomad.Job) { j.TaskGroups[0].Scaling.Policy = map[string]any{"dose": 1} },
		"min is 1":  func(j *nomad.Job) { j.TaskGroups[0].Scaling.Min = new(int64(1)) },
		"service":   func(j *nomad.Job) { j.TaskGroups[0].Services = checkedService() },
		"of a task": func(j *nomad.Job) { j.TaskGroups[0].Tasks = taskWith(checkedService()) },
		"no name":   func(j *nomad.Job) { j.ID, j.Name = nil, new("shop") },
	} {
		t.Run(name, func(t *testing.T) {
			job := jobAt(7, 2)
			change(job)
			text, err := json.Marshal(job)
			if err != nil {
				t.Fatal(err)
			}
			var whole nomad.Job
			var view jobView
			if err := json.Unmarshal(text, &whole); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &view); err != nil {
				t.Fatal(err)
			}
			got, want := versionOf(view.job()), versionOf(&whole)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("from the view:\n%+v\nfrom the job:\n%+v", got, want)
			}
		})
	}
}

func checkedService() []*nomad.Service {
	return []*nomad.Service{{PortLabel: "http", Checks: []nomad.ServiceCheck{
		{Type: "tcp"}, {Type: "http", Path: "/healthz", Interval: 5, Timeout: 3},
	}}}
}

func taskWith(services []*nomad.Service) []*nomad.Task {
	return []*nomad.Task{{Name: "app", Services: services}}
}

// Thousands of jobs made from one template share what they have in common.
func TestSharedPolicies_equalButForRoutes_areOne(t *testing.T) {
	var shared sharedPolicies
	first := shared.take(Policy{Port: "http", Routes: []Route{{Hosts: []string{"a"}}}})
	if first.Routes != nil {
		t.Errorf("it keeps the routes %v", first.Routes)
	}
	if other := shared.take(Policy{Port: "http", MaxHeld: 5}); other.MaxHeld != 5 {
		t.Errorf("another policy became %+v", other)
	}
	if again := shared.take(Policy{Port: "http"}); again != first {
		t.Error("an equal policy is not shared")
	}
	for i := range 100 {
		shared.take(Policy{MaxHeld: i})
	}
	if n := len(shared.kept); n > maxShared {
		t.Errorf("%d are remembered, want at most %d", n, maxShared)
	}
}
