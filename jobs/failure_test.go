package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
	"doze/internal/devnomad"
	"doze/jobs"
)

// broken is a driver that cannot start tasks.
type broken struct{ reason string }

func (b broken) Start(context.Context, devnomad.TaskSpec) (devnomad.Task, error) {
	return nil, errors.New(b.reason)
}

// exits runs tasks that end by themselves.
func exits(code int, after time.Duration) *devnomad.InProcess {
	return &devnomad.InProcess{
		Run: func(ctx context.Context, _ devnomad.TaskSpec, _ devnomad.Listen) int {
			select {
			case <-time.After(after):
				return code
			case <-ctx.Done():
				return 0
			}
		},
	}
}

// neverAgain has Nomad start nothing again that has failed.
func neverAgain(j *nomad.Job) {
	j.TaskGroups[0].RestartPolicy = &nomad.RestartPolicy{Attempts: new(0), Mode: new("fail")}
	j.TaskGroups[0].ReschedulePolicy = &nomad.ReschedulePolicy{
		Attempts: new(0), Unlimited: new(false),
	}
}

// field case 24: what cannot be started fails at once, with the reason in words.
func TestWake_tasksWontRun_failsWithTheReason(t *testing.T) {
	for name, test := range map[string]struct {
		runner devnomad.Runner
		job    func(*nomad.Job)
		want   []string
	}{
		"image pull": {
			broken{"Failed to pull `shop:nosuch`: not found"}, func(*nomad.Job) {},
			[]string{`task "app"`, "driver failure", "Failed to pull `shop:nosuch`"},
		},
		"ends, no restarts": {
			exits(3, 20*time.Millisecond), neverAgain, []string{`task "app"`, "terminated", "3"},
		},
		"ends, restart comes too late": {
			exits(4, 20*time.Millisecond),
			dozing(map[string]any{"wake_timeout": "10s"}),
			[]string{`task "app"`, "terminated", "4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, devnomad.Config{Runner: test.runner}, func(t *testing.T, w *world) {
				id := w.register(service("shop", counted(0), test.job))
				w.watch(jobs.Config{})
				began := time.Now()
				mustFail(t, w.wake(id), test.want...)
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("failed after %s", took)
				}
			})
		})
	}
}

func TestWake_oneRestartAndItRuns_succeeds(t *testing.T) {
	starts := 0
	runner := &devnomad.InProcess{
		Run: func(ctx context.Context, _ devnomad.TaskSpec, _ devnomad.Listen) int {
			if starts++; starts > 1 {
				<-ctx.Done()
			}
			return 1
		},
	}
	inWorld(t, devnomad.Config{Runner: runner}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(0), func(j *nomad.Job) {
			j.TaskGroups[0].RestartPolicy = &nomad.RestartPolicy{
				Attempts: new(2), Delay: new(time.Second),
			}
		}))
		w.watch(jobs.Config{})
		if err := w.wake(id); err != nil {
			t.Error(err)
		}
	})
}

// Nomad does not start again what has failed for good; the next wake does.
func TestWake_allHasFailed_startsAfresh(t *testing.T) {
	var healthy atomic.Bool
	runner := &devnomad.InProcess{
		Run: func(ctx context.Context, _ devnomad.TaskSpec, _ devnomad.Listen) int {
			if !healthy.Load() {
				return 1
			}
			<-ctx.Done()
			return 0
		},
	}
	inWorld(t, devnomad.Config{Runner: runner}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(0), dozing(map[string]any{"wake_count": 2}),
			neverAgain))
		w.watch(jobs.Config{})
		mustFail(t, w.wake(id), "terminated")
		w.pass(time.Minute)
		healthy.Store(true)
		w.news()
		if err := w.wake(id); err != nil {
			t.Fatal(err)
		}
		if n := len(w.addresses(id)); n != 2 || w.count(id) != 2 {
			t.Errorf("count %d, %d targets", w.count(id), n)
		}
		for _, line := range w.news() {
			if strings.HasPrefix(line, "observe") {
				t.Errorf("told of Doze's own write: %s", line)
			}
		}
	})
}

func TestWake_noPlace_failsAtOnceAndALaterPlacementStillServes(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		big := func(j *nomad.Job) { j.TaskGroups[0].Tasks[0].Resources.MemoryMB = new(3000) }
		w.register(service("big", counted(1), big))
		id := w.register(service("shop", counted(0), big))
		w.watch(jobs.Config{})
		w.pass(time.Second)
		began := time.Now()
		mustFail(t, w.wake(id), "no place for it", "memory exhausted on 1 node")
		if took := time.Since(began); took > time.Second {
			t.Errorf("failed after %s", took)
		}
		if n := w.count(id); n != 1 {
			t.Errorf("count %d: not kept as asked for", n)
		}
		if _, _, err := w.admin.Jobs().Deregister("big", false, nil); err != nil {
			t.Fatal(err)
		}
		w.pass(10 * time.Second)
		if got := w.addresses(id); len(got) != 1 {
			t.Errorf("targets %v after room was made", got)
		}
	})
}

// The reason is that of now, not one of earlier.
func TestWake_hadNoPlaceOnceAndFailedLater_startsAfresh(t *testing.T) {
	var crash chan struct{} // made in the bubble
	runner := &devnomad.InProcess{
		Run: func(ctx context.Context, s devnomad.TaskSpec, _ devnomad.Listen) int {
			if s.JobID == "big" {
				<-ctx.Done()
				return 0
			}
			select {
			case <-crash:
				return 1
			case <-ctx.Done():
				return 0
			}
		},
	}
	inWorld(t, devnomad.Config{Runner: runner}, func(t *testing.T, w *world) {
		crash = make(chan struct{})
		big := func(j *nomad.Job) { j.TaskGroups[0].Tasks[0].Resources.MemoryMB = new(3000) }
		w.register(service("big", counted(1), big))
		id := w.register(service("shop", counted(0), big, neverAgain))
		w.watch(jobs.Config{})
		w.pass(time.Second)
		mustFail(t, w.wake(id), "no place for it")
		if _, _, err := w.admin.Jobs().Deregister("big", false, nil); err != nil {
			t.Fatal(err)
		}
		w.pass(10 * time.Second)
		crash <- struct{}{} // only the allocation that runs now
		w.pass(10 * time.Second)
		if err := w.wake(id); err != nil {
			t.Error(err)
		}
	})
}

func TestWake_stillNoPlace_saysWhyAgain(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(0), func(j *nomad.Job) {
			j.Constraints = []*nomad.Constraint{{
				LTarget: "${attr.kernel.name}", Operand: "=", RTarget: "plan9",
			}}
		}))
		w.watch(jobs.Config{})
		for range 2 {
			mustFail(t, w.wake(id), "no place for it", "constraint", "plan9")
		}
		if n := w.took(scaleShop); n != 1 {
			t.Errorf("%d scale calls", n)
		}
	})
}

func TestWake_cannotAsk_failsWithTheReason(t *testing.T) {
	for name, test := range map[string]struct {
		act  func(w *world)
		want []string
	}{
		"may not scale": {func(w *world) {
			w.faults.Inject(devnomad.Fault{
				Method: "PUT", Path: "/v1/job/*", Status: 403, Body: "Permission denied",
			})
		}, []string{"default/shop/web", "scale-job"}},
		"may not read": {func(w *world) {
			w.faults.Inject(devnomad.Forbidden("/v1/job/*"))
		}, []string{"read-job"}},
		"away": {func(w *world) {
			if err := w.faults.Outage(true); err != nil {
				w.t.Fatal(err)
			}
		}, []string{"cannot reach Nomad", "127.0.0.1:4646"}},
		"hangs": {func(w *world) {
			w.faults.Inject(devnomad.Fault{Hang: true})
		}, []string{"did not answer in time"}},
		"HTML": {func(w *world) { w.faults.Inject(devnomad.HTML()) },
			[]string{"not Nomad's API"}},
		"stopped": {func(w *world) {
			w.faults.LoseEvents(func(string, string) bool { return true })
			if _, _, err := w.admin.Jobs().Deregister("shop", false, nil); err != nil {
				w.t.Fatal(err)
			}
		}, []string{"the job is stopped", "nomad job run"}},
		"purged": {func(w *world) {
			w.faults.LoseEvents(func(string, string) bool { return true })
			if _, _, err := w.admin.Jobs().Deregister("shop", true, nil); err != nil {
				w.t.Fatal(err)
			}
		}, []string{`job "shop"`, "no such thing in Nomad"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
				id := w.asleep()
				before := w.took(scaleShop)
				test.act(w)
				began := time.Now()
				mustFail(t, w.wake(id), test.want...)
				if took := time.Since(began); took > 11*time.Second {
					t.Errorf("failed after %s", took)
				}
				if n := w.took(scaleShop) - before; n > 1 {
					t.Errorf("%d scale calls", n)
				}
			})
		})
	}
}

// field case 9: what has not happened by the wake timeout is said.
func TestWake_timeOver_saysWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		step devnomad.Step
		want string
	}{
		"not evaluated": {devnomad.StepPlacement, "not evaluated the job yet"},
		"not running":   {devnomad.StepStart, "not running yet"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
				id := w.asleep(dozing(map[string]any{"wake_timeout": "5s"}))
				w.faults.SetDelay(test.step, time.Minute)
				began := time.Now()
				mustFail(t, w.wake(id), "wake timeout is over", test.want)
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("said after %s", took)
				}
			})
		})
	}
}

// tooLarge fits on no node.
func tooLarge(j *nomad.Job) { j.TaskGroups[0].Tasks[0].Resources.MemoryMB = new(300_000) }

// field case 24: found awake, so that nobody has called Wake; the reason is found all the
// same, and nothing is changed to find it.
func TestExplain_foundAwakeAndBroken_saysWhyAndAsksForNothing(t *testing.T) {
	for name, test := range map[string]struct {
		runner devnomad.Runner
		job    func(*nomad.Job)
		want   []string
	}{
		"no place": {nil, tooLarge, []string{"no place for it", "memory exhausted on 1 node"}},
		"image pull": {
			broken{"Failed to pull `shop:nosuch`: not found"}, func(*nomad.Job) {},
			[]string{`task "app"`, "driver failure", "Failed to pull `shop:nosuch`"},
		},
		"all has failed": {
			exits(3, 20*time.Millisecond), neverAgain, []string{`task "app"`, "terminated", "3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, devnomad.Config{Runner: test.runner}, func(t *testing.T, w *world) {
				id := w.register(service("shop", counted(1), test.job))
				w.pass(5 * time.Second)
				w.watch(jobs.Config{})
				began := time.Now()
				mustFail(t, w.workload(id).(idle.Explainer).Explain(t.Context()), test.want...)
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("explained after %s", took)
				}
				if s := w.status(id); s.Desired != 1 || len(s.Events) > 0 {
					t.Errorf("asking has changed the group: %+v", s)
				}
			})
		})
	}
}

func TestExplain_tasksRun_knowsOfNothing(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(1)))
		w.pass(5 * time.Second)
		w.watch(jobs.Config{})
		if err := w.workload(id).(idle.Explainer).Explain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
