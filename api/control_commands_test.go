package api_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doze/api/wire"
	"doze/idle"
)

// field case 19: after a month without a request, the one command is what wakes the group;
// nothing samples whether there was one.
func TestWake_afterALongSleep_isAcknowledgedAndHappensOnce(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		f := w.add(webID, quickPolicy)
		time.Sleep(30 * 24 * time.Hour)
		asked := time.Now()
		out := into[wire.Outcome](t, w.do("POST", webID.WakePath(), ""), 202)
		if out.Group.State != wire.Waking || time.Since(asked) != 0 {
			t.Errorf("acknowledged after %s as %s", time.Since(asked), out.Group.State)
		}
		synctest.Wait()
		if wakes, _ := f.calls(); wakes != 1 {
			t.Errorf("%d wakes", wakes)
		}
		time.Sleep(time.Second)
		if got := w.group(webID); got.State != wire.Ready {
			t.Errorf("a second later: %s", got.State)
		}
	})
}

func TestWake_withWait_answersWhenReadyWithThePhases(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		out := into[wire.Outcome](t, w.do("POST", webID.WakePath()+"?wait=30s", ""), 200)
		if out.Group.State != wire.Ready || out.Group.InFlight != 0 || out.Group.SleepsAt.IsZero() ||
			!strings.HasPrefix(out.Group.Why, "awake: last used 0s ago; sleeps at ") {
			t.Errorf("group %+v", out.Group) // the command is no request
		}
		// 10 ms until it is placed, 100 ms until it boots, one probe interval at the most.
		if ms := time.Duration(out.Waited).Milliseconds(); ms < 110 || ms > 140 {
			t.Errorf("waited %s", out.Waited)
		}
		wake := out.Group.LastWake
		var names strings.Builder
		for _, p := range wake.Phases {
			names.WriteString(p.Name + " ")
			if !p.Done {
				t.Errorf("phase %+v", p)
			}
		}
		if names.String() != "place boot probe " || wake.Took != out.Waited {
			t.Errorf("phases %s took %s, waited %s", names.String(), wake.Took, out.Waited)
		}
	})
}

func TestWake_manyAtOnce_wakeOnce(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		f := w.add(webID, quickPolicy)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				into[wire.Outcome](t, w.do("POST", webID.WakePath()+"?wait=30s", ""), 200)
			})
		}
		all.Wait()
		if wakes, _ := f.calls(); wakes != 1 {
			t.Errorf("%d wakes", wakes)
		}
	})
}

// field case 25: the wait and the wake's own timeout are two limits; the answer says which
// one was reached, and when.
func TestWake_twoTimeouts_answerNamesTheOneThatWasReached(t *testing.T) {
	policy := quickPolicy
	policy.WakeTimeout = 10 * time.Second
	for _, c := range []struct {
		wait   string
		kind   string
		after  time.Duration
		detail string
	}{
		{"5s", wire.ProblemWakeTimeout, 5 * time.Second, "not ready after 5s, which is what ?wait="},
		{"2m", wire.ProblemWakeFailed, 10 * time.Second, "before the 2m0s of ?wait= had passed"},
	} {
		inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
			w.add(webID, policy).bootsAfter = time.Hour
			started := time.Now()
			p := into[wire.Problem](t, w.do("POST", webID.WakePath()+"?wait="+c.wait, ""), 504)
			if p.Type != c.kind || !strings.Contains(p.Detail, c.detail) {
				t.Errorf("%s: %+v", c.wait, p)
			}
			if took := time.Since(started); took != c.after || time.Duration(p.Waited) != c.after {
				t.Errorf("%s: answered after %s, says %s, not %s", c.wait, took, p.Waited, c.after)
			}
			wait, _ := time.ParseDuration(c.wait)
			if !p.Deadline.Equal(started.Add(wait)) {
				t.Errorf("%s: deadline %s", c.wait, p.Deadline)
			}
			if last := p.Wake.Phases[len(p.Wake.Phases)-1]; last.Name != "boot" || last.Done {
				t.Errorf("%s: wake %+v", c.wait, p.Wake)
			}
		})
	}
}

func TestWake_callerLeaves_wakeGoesOn(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		f := w.add(webID, quickPolicy)
		client := *w.client
		client.Timeout = 20 * time.Millisecond
		patient := w.client
		w.client = &client
		url := "http://localhost" + webID.WakePath() + "?wait=30s"
		if res, err := w.client.Post(url, "", nil); err == nil {
			t.Errorf("answered %d", res.StatusCode)
		}
		w.client = patient
		time.Sleep(time.Second)
		if got := w.group(webID); got.State != wire.Ready || got.InFlight != 0 {
			t.Errorf("group %+v", got.Group)
		}
		if wakes, _ := f.calls(); wakes != 1 || w.log.Len() > 0 {
			t.Errorf("%d wakes; logged %s", wakes, w.log)
		}
	})
}

func TestWake_failureIsCached_commandTriesAgainAtOnce(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		f := w.add(webID, quickPolicy)
		f.wakeErr = context503{}
		into[wire.Problem](t, w.do("POST", webID.WakePath()+"?wait=1s", ""), 504)
		f.wakeErr = nil
		into[wire.Outcome](t, w.do("POST", webID.WakePath()+"?wait=1s", ""), 200)
	})
}

type context503 struct{}

func (context503) Error() string { return "503 from nomad" }

func TestSleep_readyGroup_fallsAsleep(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		f := w.add(webID, quickPolicy)
		into[wire.Outcome](t, w.do("POST", webID.WakePath()+"?wait=1s", ""), 200)
		w.do("POST", webID.SleepPath(), `{"reason":"budget"}`)
		time.Sleep(time.Second)
		got := w.group(webID)
		if _, sleeps := f.calls(); sleeps != 1 || got.State != wire.Asleep ||
			got.Why != "asleep: command: budget" {
			t.Errorf("%d sleeps; %s, %q", sleeps, got.State, got.Why)
		}
		out := into[wire.Outcome](t, w.do("POST", webID.SleepPath(), ""), 200)
		if out.Group.State != wire.Asleep {
			t.Errorf("again: %s", out.Group.State)
		}
	})
}

func TestSleep_groupInUse_is409UnlessForced(t *testing.T) {
	for name, use := range map[string]func(*controlWorld, *fakeGroup){
		"request": func(_ *controlWorld, f *fakeGroup) { f.Acquire() },
		"lease":   func(w *controlWorld, _ *fakeGroup) { w.do("PUT", webID.LeasePath("work"), "") },
	} {
		inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
			f := w.add(webID, quickPolicy)
			into[wire.Outcome](t, w.do("POST", webID.WakePath()+"?wait=1s", ""), 200)
			use(w, f)
			p := into[wire.Problem](t, w.do("POST", webID.SleepPath(), ""), 409)
			if p.Type != wire.ProblemInUse || p.Group.State != wire.Ready ||
				!strings.Contains(strings.Join(p.Hints, " "), "?force=true") {
				t.Errorf("%s: %+v", name, p)
			}
			a := w.do("POST", webID.SleepPath()+"?force=true", "")
			if a.status != 200 && a.status != 202 {
				t.Errorf("%s: forced: %d %s", name, a.status, a.text)
			}
			synctest.Wait()
			if got := w.group(webID); len(got.Leases) != 0 {
				t.Errorf("%s: after force %+v", name, got.Group)
			}
			if _, sleeps := f.calls(); sleeps != 1 {
				t.Errorf("%s: %d sleeps", name, sleeps)
			}
			if saved := w.leases.of(webID); len(saved) != 0 {
				t.Errorf("%s: leases that a restart brings back: %v", name, saved)
			}
		})
	}
}

func TestCommand_groupIsRemovedMeanwhile_isUnknown(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy).bootsAfter = time.Hour
		go func() {
			time.Sleep(time.Second)
			w.loop.Remove(idle.GroupID(webID))
		}()
		p := into[wire.Problem](t, w.do("POST", webID.WakePath()+"?wait=30s", ""), 404)
		if p.Type != wire.ProblemUnknownGroup {
			t.Errorf("answered %+v", p)
		}
	})
}
