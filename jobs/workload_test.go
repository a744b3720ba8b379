package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
	"doze/internal/devnomad"
	"doze/jobs"
)

const scaleShop = "PUT /v1/job/shop/scale"

// asleep registers a job whose group was put to sleep with a count of 3, and starts a
// watcher with a fresh memory.
func (w *world) asleep(changes ...func(*nomad.Job)) idle.GroupID {
	w.t.Helper()
	id := w.register(service("shop", append([]func(*nomad.Job){counted(3)}, changes...)...))
	w.watch(jobs.Config{})
	w.pass(time.Minute) // any deployment is over
	if err := w.sleep(id); err != nil {
		w.t.Fatal(err)
	}
	w.pass(time.Second)
	w.watch(jobs.Config{})
	w.news()
	return id
}

// field case 22: the addresses come from the placement, long before Nomad says "running".
func TestWake_asleep_declaresTargetsAtPlacement(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep()
		began := time.Since(w.start)
		if err := w.wake(id); err != nil {
			t.Fatal(err)
		}
		placed, running := w.placed[id]-began, time.Since(w.start)-began
		if len(w.addresses(id)) != 3 || placed > 10*time.Millisecond {
			t.Errorf("targets %v after %s", w.addresses(id), placed)
		}
		if running < 100*time.Millisecond {
			t.Errorf("Nomad says running after %s: the test shows nothing", running)
		}
		if n := w.took(scaleShop); n != 1 {
			t.Errorf("%d scale calls", n)
		}
	})
}

// field case 13: woken with the count it had.
// field case 21: the count is kept in Nomad: the watcher is another one than that before
// the sleep.
func TestWake_count_isWhatItShouldBe(t *testing.T) {
	wakeCount := func(n int) func(*nomad.Job) { return dozing(map[string]any{"wake_count": n}) }
	for name, test := range map[string]struct {
		job    *nomad.Job
		before func(w *world, id idle.GroupID)
		want   int
	}{
		"kept by a sleep": {service("shop", counted(3)), func(w *world, id idle.GroupID) {
			if err := w.sleep(id); err != nil {
				w.t.Fatal(err)
			}
		}, 3},
		"scaled to 0 by hand": {service("shop", counted(4)),
			func(w *world, id idle.GroupID) { w.scale(id, 0) }, 4},
		"born asleep":     {service("shop", counted(0)), nil, 1},
		"of the policy":   {service("shop", counted(0), wakeCount(2)), nil, 2},
		"above the limit": {service("shop", counted(5)), lowered, 2},
		"redeployed in between": {service("shop", counted(5)), func(w *world, id idle.GroupID) {
			w.scale(id, 0)
			w.register(service("shop", counted(2)))
			w.pass(time.Second)
			w.register(service("shop", counted(0)))
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
				id := w.register(test.job)
				w.watch(jobs.Config{})
				if test.before != nil {
					test.before(w, id)
					w.pass(time.Second)
				}
				if name != "redeployed in between" {
					w.watch(jobs.Config{}) // knows nothing of before
				}
				if err := w.wake(id); err != nil {
					t.Fatal(err)
				}
				if got := w.count(id); got != test.want {
					t.Errorf("woken with %d, want %d", got, test.want)
				}
			})
		})
	}
}

// lowered puts the group to sleep and lowers max to 2 while it sleeps.
func lowered(w *world, id idle.GroupID) {
	w.t.Helper()
	if err := w.sleep(id); err != nil {
		w.t.Fatal(err)
	}
	w.register(service("shop", counted(0), func(j *nomad.Job) {
		j.TaskGroups[0].Scaling.Max = new(int64(2))
	}))
}

func TestWake_alreadyUp_asksForNothingAndDeclaresTargetsAnew(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(2)))
		w.watch(jobs.Config{})
		w.pass(time.Second)
		w.news()
		if err := w.wake(id); err != nil {
			t.Fatal(err)
		}
		w.expect("targets default/shop/web: 2")
		if n := w.took(scaleShop); n != 0 {
			t.Errorf("%d scale calls", n)
		}
	})
}

// field case 19: the wake itself looks for the placement; no event is needed.
func TestWake_eventsLost_findsThePlacementItself(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep()
		w.faults.LoseEvents(func(string, string) bool { return true })
		began := time.Since(w.start)
		if err := w.wake(id); err != nil {
			t.Fatal(err)
		}
		placed := w.placed[id] - began
		if len(w.addresses(id)) != 3 || placed > 50*time.Millisecond {
			t.Errorf("targets %v after %s", w.addresses(id), placed)
		}
	})
}

func TestWakeAndSleep_ownWrites_areNotObserved(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep(counted(1))
		if err := w.wake(id); err != nil {
			t.Fatal(err)
		}
		if err := w.sleep(id); err != nil {
			t.Fatal(err)
		}
		w.pass(10 * time.Minute)
		w.expect("targets default/shop/web: 1", "targets default/shop/web: 0")
	})
}

// An allocation that a sleep has told to stop is no target of the wake right after it.
func TestWake_rightAfterSleep_declaresNoneOfTheOldAllocations(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(1)))
		w.watch(jobs.Config{})
		w.pass(time.Second)
		old := w.addresses(id)[0]
		w.faults.SetDelay(devnomad.StepPlacement, 50*time.Millisecond)
		if err := w.sleep(id); err != nil {
			t.Fatal(err)
		}
		if got := w.addresses(id); len(got) > 0 {
			t.Errorf("targets %v when Sleep has returned", got)
		}
		w.news()
		if err := w.wake(id); err != nil {
			t.Fatal(err)
		}
		now := w.addresses(id)
		if len(now) != 1 {
			t.Fatalf("targets %v", now)
		}
		kept := now[0].ID == old.ID // Nomad may have dealt with both at once
		alloc, _, err := w.admin.Allocations().Info(now[0].ID, nil)
		if err != nil || alloc.DesiredStatus != "run" {
			t.Errorf("kept %v: %v %v", kept, alloc.DesiredStatus, err)
		}
	})
}

// The event of Doze's own write is often there before the answer to it.
func TestWakeAndSleep_answersAreLate_ownWritesAreNotObserved(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep(counted(1))
		w.delay(50 * time.Millisecond)
		if err := w.wake(id); err != nil {
			t.Fatal(err)
		}
		if err := w.sleep(id); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.expect("targets default/shop/web: 1", "targets default/shop/web: 0")
	})
}

// field case 14: a redeploy that comes between looking and asking is not overruled.
func TestWake_redeployedBetweenLookingAndAsking_keepsTheNewCount(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep()
		w.faults.Inject(devnomad.Fault{
			Method: http.MethodPut, Path: "/v1/job/shop/scale", Delay: time.Second,
		})
		time.AfterFunc(500*time.Millisecond, func() { w.register(service("shop", counted(2))) })
		if err := w.wake(id); err != nil {
			t.Fatal(err)
		}
		if n := w.count(id); n != 2 {
			t.Errorf("count %d", n)
		}
	})
}

func TestWake_jobChangedMeanwhile_asksAgain(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep()
		w.faults.Inject(devnomad.Fault{
			Method: http.MethodPut, Path: "/v1/job/shop/scale", Times: 2, Status: 500,
			Body: "Enforcing job modify index 7: job exists with conflicting job modify index: 9",
		})
		if err := w.wake(id); err != nil {
			t.Fatal(err)
		}
		if w.count(id) != 3 || w.took(scaleShop) != 3 {
			t.Errorf("count %d after %d calls", w.count(id), w.took(scaleShop))
		}
	})
}

func TestWake_nomadCannotJustNow_asksAgain(t *testing.T) {
	for _, status := range []int{429, 500, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
				id := w.asleep()
				w.faults.Inject(devnomad.Fault{Status: status, Body: "No cluster leader", Times: 5})
				if err := w.wake(id); err != nil {
					t.Fatal(err)
				}
				if n := w.count(id); n != 3 {
					t.Errorf("count %d", n)
				}
			})
		})
	}
}

// A count of 0 under a wake is told, and asked for again: somebody waits.
func TestWake_takenToZeroMeanwhile_asksAgain(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep()
		done := make(chan error)
		go func() { done <- w.wake(id) }()
		w.pass(20 * time.Millisecond) // it waits for the tasks to run
		w.scale(id, 0)
		w.pass(20 * time.Millisecond)
		got := w.news()
		if !slices.Contains(got, "observe default/shop/web count 0: count changed from 3 to 0") {
			t.Errorf("told %q", got)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := len(w.addresses(id)); w.count(id) != 3 || n != 3 {
			t.Errorf("count %d, %d targets", w.count(id), n)
		}
	})
}

func TestWake_cancelled_returnsAtOnce(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep()
		w.faults.Inject(devnomad.Fault{Path: "/v1/job/shop/scale", Hang: true})
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() { done <- w.workload(id).Wake(ctx, 1) }()
		w.pass(time.Second)
		began := time.Now()
		cancel(idle.ErrSuperseded)
		if err := <-done; !errors.Is(err, idle.ErrSuperseded) || time.Since(began) > 0 {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}

func TestSleep_running_asksForZeroAndKeepsTheCount(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep()
		event := w.status(id).Events[0]
		if w.count(id) != 0 || event.Count == nil || *event.Count != 0 ||
			event.Meta["doze_count"] != 3.0 || event.Message != "put to sleep by doze: idle for 5m0s" {
			t.Errorf("count %d, event %+v", w.count(id), event)
		}
	})
}

func TestSleep_nothingToDo_doesNothing(t *testing.T) {
	for name, act := range map[string]func(w *world, id idle.GroupID){
		"asleep": func(w *world, id idle.GroupID) { w.scale(id, 0) },
		"stopped": func(w *world, id idle.GroupID) {
			_, _, err := w.admin.Jobs().Deregister(id.Job, false, nil)
			if err != nil {
				w.t.Fatal(err)
			}
		},
		"purged": func(w *world, id idle.GroupID) {
			_, _, err := w.admin.Jobs().Deregister(id.Job, true, nil)
			if err != nil {
				w.t.Fatal(err)
			}
		},
		"group gone": func(w *world, id idle.GroupID) {
			w.register(service("shop", func(j *nomad.Job) { j.TaskGroups[0].Name = new("x") }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
				id := w.register(service("shop", counted(1)))
				w.watch(jobs.Config{})
				w.pass(time.Second)
				w.faults.LoseEvents(func(string, string) bool { return true })
				act(w, id)
				w.pass(time.Second)
				if err := w.sleep(id); err != nil {
					t.Error(err)
				}
				if n := w.took(scaleShop); n != 0 {
					t.Errorf("%d scale calls", n)
				}
			})
		})
	}
}

func TestSleep_otherDepthThanZero_isRefused(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(1)))
		w.watch(jobs.Config{})
		mustFail(t, w.workload(id).Sleep(t.Context(), 1, idle.Freeze, "idle"), "count 0 only")
		if n := w.count(id); n != 1 {
			t.Errorf("count %d", n)
		}
	})
}

func TestSleep_nomadAway_saysSo(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(1)))
		w.watch(jobs.Config{})
		if err := w.faults.Outage(true); err != nil {
			t.Fatal(err)
		}
		mustFail(t, w.sleep(id), "cannot reach Nomad", w.cluster.Addr())
	})
}

func TestWake_watcherEnds_returnsAtOnce(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep()
		w.faults.SetDelay(devnomad.StepPlacement, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.workload(id).Wake(ctx, 1) }()
		w.pass(time.Second)
		began := time.Now()
		w.stop()
		cancel()
		if err := <-done; err == nil || time.Since(began) > 0 {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}
