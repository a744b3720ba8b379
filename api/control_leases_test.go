package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"doze/api/wire"
)

// field case 3: a tab is open and nobody clicks; a keep-awake lease by API holds the group
// for as long as it says, and not longer.
func TestLease_nobodyClicks_groupStaysAwakeForTwoHours(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) { // idle_after is 5 minutes
		f := w.add(webID, quickPolicy)
		begun := time.Now()
		out := into[wire.LeaseOutcome](t, w.do("PUT", webID.LeasePath("open-tab")+"?for=2h", ""), 200)
		if !out.Until.Equal(begun.Add(2*time.Hour)) || len(out.Warnings) != 0 {
			t.Errorf("answered %+v", out)
		}
		time.Sleep(2*time.Hour - time.Second)
		got := w.group(webID)
		if got.State != wire.Ready ||
			!strings.Contains(got.Why, `lease "open-tab" until 2000-01-01T02:00:00Z`) {
			t.Errorf("after almost two hours: %s, %q", got.State, got.Why)
		}
		time.Sleep(6 * time.Minute)
		if got := w.group(webID); got.State != wire.Asleep || len(got.Leases) != 0 {
			t.Errorf("after the lease: %s %v", got.State, got.Leases)
		}
		if wakes, sleeps := f.calls(); wakes != 1 || sleeps != 1 {
			t.Errorf("%d wakes, %d sleeps", wakes, sleeps)
		}
	})
}

func TestLease_shorterOne_neverShortensAnother(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		begun := time.Now()
		for _, c := range []struct {
			name, lasts string
			until       time.Duration
		}{
			{"a", "2h", 2 * time.Hour}, {"a", "1h", 2 * time.Hour}, {"a", "3h", 3 * time.Hour},
			{"b", "1h", time.Hour},
		} {
			path := webID.LeasePath(c.name) + "?for=" + c.lasts
			out := into[wire.LeaseOutcome](t, w.do("PUT", path, ""), 200)
			if !out.Until.Equal(begun.Add(c.until)) {
				t.Errorf("%s for %s ends at %s", c.name, c.lasts, out.Until)
			}
		}
		saved := w.leases.of(webID)
		if len(saved) != 2 || !saved["a"].Equal(begun.Add(3*time.Hour)) ||
			!saved["b"].Equal(begun.Add(time.Hour)) {
			t.Errorf("saved %v", saved)
		}
		out := into[wire.LeaseOutcome](t, w.do("DELETE", webID.LeasePath("a"), ""), 200)
		if !out.Dropped || len(out.Group.Leases) != 1 || len(w.leases.of(webID)) != 1 {
			t.Errorf("dropped: %+v, saved %v", out, w.leases.of(webID))
		}
		out = into[wire.LeaseOutcome](t, w.do("DELETE", webID.LeasePath("a"), ""), 200)
		if out.Dropped {
			t.Errorf("dropped twice: %+v", out)
		}
	})
}

func TestLease_cannotBeSaved_holdsAndWarns(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.leases.err = errors.New("permission denied: scale-job")
		w.add(webID, quickPolicy)
		out := into[wire.LeaseOutcome](t, w.do("PUT", webID.LeasePath("x"), ""), 200)
		if len(out.Warnings) != 1 ||
			!strings.Contains(out.Warnings[0], "permission denied: scale-job") {
			t.Errorf("warned %q", out.Warnings)
		}
		if len(out.Group.Leases) != 1 {
			t.Errorf("leases %v", out.Group.Leases)
		}
		drop := into[wire.LeaseOutcome](t, w.do("DELETE", webID.LeasePath("x"), ""), 200)
		if !drop.Dropped || len(drop.Warnings) != 1 {
			t.Errorf("dropped %+v", drop)
		}
	})
}

func TestLease_oneTooMany_is409(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		for i := range 64 {
			into[wire.LeaseOutcome](t, w.do("PUT", webID.LeasePath(fmt.Sprint("n", i)), ""), 200)
		}
		p := into[wire.Problem](t, w.do("PUT", webID.LeasePath("more"), ""), 409)
		if p.Type != wire.ProblemTooManyLeases || len(p.Hints) == 0 {
			t.Errorf("answered %+v", p)
		}
		into[wire.LeaseOutcome](t, w.do("PUT", webID.LeasePath("n7")+"?for=9h", ""), 200)
	})
}
