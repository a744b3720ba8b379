package jobs_test

import (
	"errors"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
	"doze/internal/devnomad"
	"doze/jobs"
)

// field case 15: a sleep during a deployment is put off, and works afterwards.
func TestSleep_activeDeployment_isPutOff(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(1), deploying))
		w.watch(jobs.Config{})
		err := w.sleep(id)
		notNow, ok := errors.AsType[*idle.NotNowError](err)
		if !ok || notNow.After <= 0 || w.count(id) != 1 {
			t.Fatalf("got %v, count %d", err, w.count(id))
		}
		w.pass(30 * time.Second)
		if err := w.sleep(id); err != nil || w.count(id) != 0 {
			t.Errorf("after the deployment: %v, count %d", err, w.count(id))
		}
	})
}

// field case 15: a short block of the wake is waited out.
func TestWake_activeDeploymentForAMoment_isWaitedOut(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep()
		remove := w.faults.Inject(devnomad.ActiveDeployment())
		time.AfterFunc(400*time.Millisecond, remove)
		began := time.Now()
		if err := w.wake(id); err != nil {
			t.Fatal(err)
		}
		if w.count(id) != 3 || w.took("PUT /v1/jobs") != 0 {
			t.Errorf("count %d, %d registrations", w.count(id), w.took("PUT /v1/jobs"))
		}
		if took := time.Since(began); took < 400*time.Millisecond || took > 3*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// twoGroups registers a job of two groups with deployments, both put to sleep.
func (w *world) twoGroups() (web, api idle.GroupID) {
	w.t.Helper()
	web = w.register(service("shop", counted(2), deploying, func(j *nomad.Job) {
		j.AddTaskGroup(webGroup("api"))
		j.TaskGroups[1].Count = new(1)
	}))
	api = web
	api.Group = "api"
	w.watch(jobs.Config{})
	w.pass(time.Minute)
	for _, id := range []idle.GroupID{web, api} {
		if err := w.sleep(id); err != nil {
			w.t.Fatal(err)
		}
		w.pass(time.Minute)
	}
	w.news()
	return web, api
}

// field case 15: one group's wake makes a deployment that blocks the other's; that one is
// registered, under its index and with its own count.
// field case 16: the group that was woken first is not restarted by it.
func TestWake_blockedByAnotherGroupsDeployment_registersTheJob(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		web, api := w.twoGroups()
		if err := w.wake(api); err != nil {
			t.Fatal(err)
		}
		first := w.addresses(api)
		began := time.Since(w.start)
		if err := w.wake(web); err != nil {
			t.Fatal(err)
		}
		if took := w.placed[web] - began; took > 1500*time.Millisecond {
			t.Errorf("placed after %s", took)
		}
		if n := w.took("PUT /v1/jobs"); n != 1 || w.count(web) != 2 || w.count(api) != 1 {
			t.Errorf("%d registrations, counts %d and %d", n, w.count(web), w.count(api))
		}
		w.pass(time.Minute)
		if now := w.addresses(api); len(now) != 1 || now[0] != first[0] {
			t.Errorf("the other group had %v, has %v", first, now)
		}
	})
}

// field case 16: waking and putting to sleep one group leaves the other's allocations alone.
func TestWakeAndSleep_oneOfTwoGroups_leavesTheOtherAlone(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		web, api := w.twoGroups()
		if err := w.wake(api); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		first := w.addresses(api)
		if err := w.wake(web); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		if err := w.sleep(web); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		if now := w.addresses(api); len(now) != 1 || now[0] != first[0] || w.count(api) != 1 {
			t.Errorf("the other group had %v, has %v", first, now)
		}
	})
}

// field case 15: a token that may not register waits for the deployment's end, and a
// blocked call is never taken for success.
func TestWake_blockedAndMayNotRegister_waitsForTheDeployment(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		web, api := w.twoGroups()
		w.faults.Inject(devnomad.Fault{
			Method: "PUT", Path: "/v1/jobs", Status: 403, Body: "Permission denied",
		})
		if err := w.wake(api); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := w.wake(web); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 5*time.Second || w.count(web) != 2 {
			t.Errorf("took %s, count %d", took, w.count(web))
		}
		if n := w.took("PUT /v1/jobs"); n != 1 {
			t.Errorf("%d registrations", n)
		}
	})
}

func TestWake_blockedToTheEnd_saysSo(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.asleep(dozing(map[string]any{"wake_timeout": "20s"}))
		w.faults.Inject(devnomad.ActiveDeployment())
		w.faults.Inject(devnomad.Fault{
			Method: "PUT", Path: "/v1/jobs", Status: 403, Body: "Permission denied",
		})
		began := time.Now()
		err := w.wake(id)
		mustFail(t, err, "scaling blocked due to active deployment")
		if took := time.Since(began); took > 20*time.Second || w.count(id) != 0 {
			t.Errorf("took %s, count %d", took, w.count(id))
		}
	})
}
