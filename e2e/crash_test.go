//go:build e2e

package e2e

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"doze/api/wire"
)

// field cases 11 and 21: doze serve is killed in every state. After the restart nothing is
// lost, no running group is stopped early, and the count is the one from before.
func TestCrash_killedInAnyState_recoversByLooking(t *testing.T) {
	t.Parallel()
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "crash", app: "web", idleAfter: 5 * time.Second, count: 2,
			env:    map[string]string{"E2E_DELAY": "300ms"},
			policy: map[string]any{"drain_delay": "500ms"}})
		d := startDoze(t, c)
		for _, state := range []wire.State{
			wire.Asleep, wire.Waking, wire.Ready, wire.Draining, wire.Sleeping,
		} {
			d.bring("crash", state)
			_ = d.end(syscall.SIGKILL) // the error only says that it was killed
			d.start()
			d.mustGet("crash.localhost", "/")
			if count := c.count(t, "crash", "web"); count != 2 {
				t.Errorf("killed while %s: the count is %d, not the 2 from before", state, count)
			}
			woken := time.Now()
			d.waitState("crash", wire.Asleep)
			if early := time.Since(woken); early < 4900*time.Millisecond {
				t.Errorf("killed while %s: asleep again after %s of 5s", state, early)
			}
		}
	})
}

// bring gets a group into a state, as briefly as the state may last.
func (d *doze) bring(job string, state wire.State) {
	d.t.Helper()
	if state == wire.Asleep {
		d.waitState(job, wire.Asleep)
		return
	}
	d.waitState(job, wire.Asleep)
	d.command(http.MethodPost, d.id(job).WakePath())
	if state == wire.Waking {
		d.waitState(job, wire.Waking)
		return
	}
	d.waitState(job, wire.Ready)
	if state == wire.Ready {
		return
	}
	d.command(http.MethodPost, d.id(job).SleepPath())
	d.waitFor(job+" to leave ready", func() bool {
		group, _ := d.group(job)
		return group.State != wire.Ready
	})
	if state == wire.Sleeping {
		d.waitFor(job+" to be told to sleep", func() bool {
			group, _ := d.group(job)
			return group.State == wire.Sleeping || group.State == wire.Asleep
		})
	}
}

// field case 30: at SIGTERM what is in flight is answered, within the shutdown's time.
func TestShutdown_requestInFlight_isAnswered(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "stop", app: "web"})
		d := startDoze(t, c)
		d.mustGet("stop.localhost", "/")
		got := make(chan answer, 1)
		go func() {
			a, err := d.get("stop.localhost", "/drip?n=4&every=300ms")
			if err != nil {
				a.body = err.Error()
			}
			got <- a
		}()
		d.waitFor("the request to be in flight", func() bool {
			group, _ := d.group("stop")
			return group.InFlight == 1
		})
		if err := d.end(syscall.SIGTERM); err != nil {
			t.Errorf("doze serve ended with %v", err)
		}
		if a := <-got; a.body != "...." {
			t.Errorf("the request in flight got status %d: %q", a.status, a.body)
		}
	})
}

// field case 31: after `doze wake -all` nothing of Doze is needed to run the jobs.
func TestUninstall_wakeAll_jobsRunWithoutDoze(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		for _, id := range []string{"one", "two"} {
			c.register(t, jobSpec{id: id, app: "web", count: 1})
		}
		d := startDoze(t, c)
		d.waitState("one", wire.Asleep)
		d.waitState("two", wire.Asleep)
		if out, err := d.cli("wake", "-all"); err != nil {
			t.Fatalf("doze wake -all: %v\n%s", err, out)
		}
		fail(t, d.end(syscall.SIGTERM))
		for _, id := range []string{"one", "two"} {
			if count := c.count(t, id, "web"); count != 1 {
				t.Errorf("the count of %s is %d without doze, not 1", id, count)
			}
		}
	})
}
