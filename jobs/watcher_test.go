package jobs_test

import (
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/devnomad"
	"doze/jobs"
)

// field case 10: a group that nobody ever requested is found, too.
// field case 11: after a restart a running group is found running, with its addresses.
func TestWatcher_runningGroup_isPutWithItsTargets(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(2)))
		w.pass(time.Second)
		w.watch(jobs.Config{})
		w.expect(
			"put default/shop/web count 2: found at start",
			"targets default/shop/web: 2",
		)
		if g := w.groups[id]; g.Max != 5 || g.Policy.Port != "http" || g.JobModifyIndex == 0 {
			t.Errorf("got %+v", g)
		}
		if err := w.watcher.Current(); err != nil || w.resyncs != 1 {
			t.Errorf("current: %v, resyncs %d", err, w.resyncs)
		}
	})
}

func TestWatcher_jobRegisteredLater_isPutAtOnce(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		w.watch(jobs.Config{})
		w.register(service("shop", counted(0)))
		w.pass(0)
		w.expect("put default/shop/web count 0: the job was registered")
	})
}

func TestWatcher_jobLeavesDoze_isRemovedWithTheCause(t *testing.T) {
	stop := func(purge bool) func(*world) {
		return func(w *world) {
			_, _, err := w.admin.Jobs().Deregister("shop", purge, nil)
			if err != nil {
				w.t.Fatal(err)
			}
		}
	}
	again := func(change func(*nomad.Job)) func(*world) {
		return func(w *world) { w.register(service("shop", change)) }
	}
	for name, test := range map[string]struct {
		act  func(*world)
		want []string
	}{
		"stopped": {stop(false), []string{"remove default/shop/web: the job was stopped"}},
		"purged":  {stop(true), []string{"remove default/shop/web: the job was …"}},
		"disabled": {again(func(j *nomad.Job) {
			j.TaskGroups[0].Scaling.Enabled = new(false)
		}), []string{"remove default/shop/web: it no longer opts in"}},
		"no scaling block": {again(func(j *nomad.Job) {
			j.TaskGroups[0].Scaling = nil
		}), []string{"remove default/shop/web: it no longer opts in"}},
		"group gone": {again(func(j *nomad.Job) {
			j.TaskGroups[0].Scaling, j.TaskGroups[0].Name = nil, new("other")
		}), []string{"remove default/shop/web: it no longer opts in"}},
		"misspelt": {again(dozing(map[string]any{"idle_afer": "1s"})), []string{
			"remove default/shop/web: its policy is wrong: …",
			`diagnose default/shop: group "web" …`,
		}},
		"min changed": {again(func(j *nomad.Job) {
			j.TaskGroups[0].Scaling.Min, j.TaskGroups[0].Count = new(int64(1)), new(1)
		}), []string{
			"remove default/shop/web: its policy is wrong: …",
			`diagnose default/shop: group "web" …`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
				w.register(service("shop", counted(0)))
				w.watch(jobs.Config{})
				w.news()
				test.act(w)
				w.pass(time.Second)
				w.expect(test.want...)
			})
		})
	}
}

func TestWatcher_policyCorrected_isPutAndItsDiagnosticsCleared(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		w.register(service("shop", counted(0), dozing(map[string]any{"idle_afer": "1s"})))
		w.watch(jobs.Config{})
		w.expect(`diagnose default/shop: group "web" …`)
		w.register(service("shop", counted(0), dozing(map[string]any{"idle_after": "1s"})))
		w.pass(time.Second)
		w.expect(
			"put default/shop/web count 0: the job was registered",
			"diagnose default/shop: ",
		)
	})
}

func TestWatcher_policyChanged_isPutAgain(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(0)))
		w.watch(jobs.Config{})
		w.news()
		w.register(service("shop", counted(0), dozing(map[string]any{"idle_after": "7s"})))
		w.pass(time.Second)
		w.expect("put default/shop/web count 0: the job was registered")
		if got := w.groups[id].Policy.IdleAfter; got != 7*time.Second {
			t.Errorf("idle after %s", got)
		}
	})
}

func TestWatcher_batchJob_isRefusedWithTheReason(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		w.register(service("shop", counted(0), func(j *nomad.Job) {
			j.Type, j.Update = new("batch"), nil
			j.AddTaskGroup(webGroup("second"))
		}))
		w.watch(jobs.Config{})
		w.expect(`diagnose default/shop: job > type: "batch" jobs cannot sleep; …`)
	})
}

// field case 12: what others do to a group is seen at once.
// field case 14: a redeploy while asleep sets the count; it is told once, and nothing is
// asserted against it.
func TestWatcher_redeployWhileAsleep_isObservedOnceAndNotFought(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(0)))
		w.watch(jobs.Config{})
		w.news()
		w.register(service("shop", counted(2)))
		w.pass(time.Minute)
		w.expect(
			"observe default/shop/web count 2: count changed from 0 to 2",
			"targets default/shop/web: 1",
			"targets default/shop/web: 2",
		)
		w.scale(id, 0)
		w.pass(time.Minute)
		if got := w.news(); len(got) < 2 ||
			got[0] != "observe default/shop/web count 0: count changed from 2 to 0" {
			t.Errorf("told %q", got)
		}
		if len(w.addresses(id)) > 0 || w.took("PUT /v1/job/shop/scale") > 0 {
			t.Errorf("targets %v, %d scale calls", w.addresses(id),
				w.took("PUT /v1/job/shop/scale"))
		}
	})
}

func TestWatcher_allocationReplaced_targetsFollow(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(1)))
		w.watch(jobs.Config{})
		old := w.addresses(id)
		alloc := &nomad.Allocation{ID: old[0].ID}
		if _, err := w.admin.Allocations().Stop(alloc, nil); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		if now := w.addresses(id); len(now) != 1 || now[0].ID == old[0].ID {
			t.Errorf("had %v, has %v", old, now)
		}
	})
}

func TestWatcher_duplicateEvents_areToldOnce(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		w.faults.DuplicateEvents(func(string, string) bool { return true })
		id := w.register(service("shop", counted(0)))
		w.watch(jobs.Config{})
		w.news()
		w.scale(id, 1)
		w.pass(time.Minute)
		w.expect(
			"observe default/shop/web count 1: count changed from 0 to 1",
			"targets default/shop/web: 1",
		)
	})
}

// field case 12: what the events do not tell is found by looking again.
func TestWatcher_lostEvents_areMadeUpForByLookingAgain(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(0)))
		w.register(service("other", counted(0)))
		w.watch(jobs.Config{ReconcileEvery: time.Minute})
		w.news()
		w.faults.LoseEvents(func(string, string) bool { return true })
		w.scale(id, 1)
		if _, _, err := w.admin.Jobs().Deregister("other", true, nil); err != nil {
			t.Fatal(err)
		}
		w.pass(30 * time.Second)
		w.expect()
		w.pass(time.Minute)
		w.expect(
			"observe default/shop/web count 1: count changed from 0 to 1",
			"remove default/other/web: the job was stopped, purged, or lost its scaling block",
			"targets default/shop/web: 1",
		)
		if n := w.took("GET /v1/job/other"); n != 1 {
			t.Errorf("an unchanged job was read %d times", n)
		}
	})
}

func TestWatcher_streamEnds_isListedAgain(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(0)))
		w.watch(jobs.Config{})
		w.news()
		w.faults.EndStreams()
		w.scale(id, 1)
		w.pass(2 * time.Second)
		w.expect(
			"observe default/shop/web count 1: count changed from 0 to 1",
			"targets default/shop/web: 1",
		)
		if err := w.watcher.Current(); err != nil {
			t.Errorf("not current: %v", err)
		}
	})
}

func TestWatcher_nomadAway_saysSoWithoutBusyLoopAndRecovers(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		w.register(service("shop", counted(1)))
		w.watch(jobs.Config{})
		w.news()
		if err := w.faults.Outage(true); err != nil {
			t.Fatal(err)
		}
		before := w.total()
		w.pass(10 * time.Minute)
		mustFail(t, w.watcher.Current(), "cannot reach Nomad", w.cluster.Addr())
		if n := w.total() - before; n > 100 {
			t.Errorf("%d requests in ten minutes", n)
		}
		w.expect()
		if err := w.faults.Outage(false); err != nil {
			t.Fatal(err)
		}
		w.pass(30 * time.Second)
		if err := w.watcher.Current(); err != nil {
			t.Errorf("not current: %v", err)
		}
		w.expect()
	})
}

func TestWatcher_badAnswers_areSaidAndSurvived(t *testing.T) {
	for name, test := range map[string]struct {
		fault devnomad.Fault
		want  []string
	}{
		"HTML": {devnomad.HTML(), []string{"is not Nomad's API", "NOMAD_ADDR"}},
		"HTML error": {devnomad.Fault{Status: 404, Body: "<html>no</html>"},
			[]string{"is not Nomad's API", "NOMAD_ADDR"}},
		"forbidden": {devnomad.Forbidden("/v1/*"), []string{"lacks the capability"}},
		"forbidden list": {devnomad.Forbidden("/v1/jobs"),
			[]string{"cannot list the jobs", "list-jobs"}},
		"too many": {devnomad.TooMany("/v1/jobs"), []string{"Too Many Requests"}},
		"no leader": {devnomad.Fault{Status: 500, Body: "No cluster leader"},
			[]string{"No cluster leader"}},
		"hang":        {devnomad.Fault{Hang: true}, []string{"did not answer in time"}},
		"hang in job": {devnomad.Fault{Path: "/v1/job/*", Hang: true}, []string{"in time"}},
		"silent stream": {devnomad.Fault{Path: "/v1/event/stream", Hang: true},
			[]string{"did not answer in time"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
				w.register(service("shop", counted(0)))
				remove := w.faults.Inject(test.fault)
				w.watch(jobs.Config{})
				w.pass(time.Minute)
				mustFail(t, w.watcher.Current(), test.want...)
				if n := w.total(); n > 60 {
					t.Errorf("%d requests in a minute", n)
				}
				remove()
				w.pass(time.Minute)
				if err := w.watcher.Current(); err != nil {
					t.Errorf("not current: %v", err)
				}
				w.expect("put default/shop/web count 0: found at start")
			})
		})
	}
}
