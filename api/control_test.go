package api_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"doze/api"
	"doze/api/wire"
)

func TestNewControl_emptyConfig_namesEverythingThatIsMissing(t *testing.T) {
	_, err := api.NewControl(api.ControlConfig{AllowedHosts: []string{"*.example.com"}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"no Loop", "no Journal", "no Auth",
		`cannot allow host "*.example.com"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestControl_listing_isOrderedFilteredAndFollowable(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		other := wire.ID{Namespace: "prod", Job: "a/b", Group: "app"}
		w.add(webID, quickPolicy)
		w.add(other, quickPolicy)
		w.add(wire.ID{Namespace: "default", Job: "api", Group: "app"}, quickPolicy)
		into[wire.Outcome](t, w.do("POST", other.WakePath()+"?wait=5s", ""), 200)

		for query, want := range map[string][]string{
			"":                          {"default/api/app", "default/web/app", "prod/a/b/app"},
			"?namespace=*":              {"default/api/app", "default/web/app", "prod/a/b/app"},
			"?namespace=prod":           {"prod/a/b/app"},
			"?state=ready":              {"prod/a/b/app"},
			"?state=asleep":             {"default/api/app", "default/web/app"},
			"?state=asleep&state=ready": {"default/api/app", "default/web/app", "prod/a/b/app"},
			"?namespace=none":           {},
		} {
			list := into[wire.GroupList](t, w.do("GET", "/v1/groups"+query, ""), 200)
			var got []string
			for _, g := range list.Groups {
				got = append(got, g.ID.String())
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s lists %v, not %v", query, got, want)
			}
			if list.LastEventID != w.journal.Position() {
				t.Errorf("position %q, not %q", list.LastEventID, w.journal.Position())
			}
		}
	})
}

func TestControl_idWithSlashesAndDots_namesTheGroup(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		for _, id := range []wire.ID{
			{Namespace: "default", Job: "team/web/periodic-1", Group: "a b"},
			{Namespace: "default", Job: "..", Group: "."},
			{Namespace: "default", Job: "%2F", Group: "wake"},
			{Namespace: "ns", Job: "jöb?x=1#y", Group: "g;h&i"},
		} {
			w.add(id, quickPolicy)
			if got := w.group(id).Group.ID; got != id {
				t.Errorf("%s answers for %s", id.Path(), got)
			}
			into[wire.Outcome](t, w.do("POST", id.WakePath()+"?wait=1s", ""), 200)
			into[wire.LeaseOutcome](t, w.do("PUT", id.LeasePath("x@y"), ""), 200)
		}
	})
}

func TestControl_panicInWhatItCalls_isOneProblemAndGoesOn(t *testing.T) {
	broken := true
	inControlWorld(t, func(cfg *api.ControlConfig) {
		cfg.Diagnostics = func() []wire.Diagnostic {
			if broken {
				panic("secret")
			}
			return nil
		}
	}, func(t *testing.T, w *controlWorld) {
		a := w.do("GET", "/v1/diagnostics", "")
		p := into[wire.Problem](t, a, 500)
		if p.Type != wire.ProblemInternal || strings.Contains(a.text, "secret") {
			t.Errorf("answered %s", a.text)
		}
		broken = false
		into[wire.DiagnosticList](t, w.do("GET", "/v1/diagnostics", ""), 200)
		if !strings.Contains(w.log.String(), "secret") {
			t.Error("the log does not say what happened")
		}
	})
}

func TestControl_diagnostics_areListedAndShownWithTheirGroup(t *testing.T) {
	web := wire.Diagnostic{Namespace: "default", Job: "web", Group: "app", Path: "scaling",
		Problem: `unknown key "idle_afer"`, Hint: "did you mean idle_after?"}
	whole := wire.Diagnostic{Namespace: "default", Job: "batch", Problem: "batch jobs cannot sleep"}
	inControlWorld(t, func(cfg *api.ControlConfig) {
		cfg.Diagnostics = func() []wire.Diagnostic { return []wire.Diagnostic{web, whole} }
	}, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		list := into[wire.DiagnosticList](t, w.do("GET", "/v1/diagnostics", ""), 200)
		if !slices.Equal(list.Diagnostics, []wire.Diagnostic{whole, web}) {
			t.Errorf("listed %v", list.Diagnostics)
		}
		if got := w.group(webID).Diagnostics; !slices.Equal(got, []wire.Diagnostic{web}) {
			t.Errorf("the group has %v", got)
		}
	})
}

func TestControl_health_answersBeforeEveryRule(t *testing.T) {
	inControlWorld(t, func(cfg *api.ControlConfig) {
		cfg.Auth = denyAll{}
		cfg.Health = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"status":"ok"}`))
		})
		cfg.Metrics = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
		})
	}, func(t *testing.T, w *controlWorld) {
		for _, path := range []string{"/livez", "/readyz"} {
			if a := w.do("GET", path, "", "Host", "rebound.example.com"); a.status != 200 {
				t.Errorf("%s under an unknown host: %d", path, a.status)
			}
		}
		if a := w.do("GET", "/metrics", ""); a.status != 200 {
			t.Errorf("/metrics without a token: %d", a.status)
		}
		if a := w.do("GET", "/metrics", "", "Host", "rebound.example.com"); a.status != 421 {
			t.Errorf("/metrics under an unknown host: %d", a.status)
		}
	})
}

func TestControl_history_saysWhyItIsAwake(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		if why := w.group(webID).Why; why != "asleep: found in this state" {
			t.Errorf("at first: %q", why)
		}
		a := w.do("POST", webID.WakePath()+"?wait=5s", `{"reason":"deploy check"}`)
		into[wire.Outcome](t, a, 200)
		synctest.Wait() // the gate opens a moment before the loop has written down that it has
		got := w.group(webID)
		last := got.History[len(got.History)-1]
		first := got.History[len(got.History)-2]
		if last.To != wire.Ready || first.Cause != "command: deploy check" ||
			got.LastWake.Cause != first.Cause {
			t.Errorf("history %+v, last wake %+v", got.History, got.LastWake)
		}
		if len(got.Targets) != 1 || !got.Targets[0].Admitted || got.Targets[0].Verdict != wire.Up {
			t.Errorf("targets %+v", got.Targets)
		}
		time.Sleep(10 * time.Minute)
		if why := w.group(webID).Why; why != "asleep: "+lastCause(w.group(webID)) {
			t.Errorf("at last: %q", why)
		}
	})
}

func lastCause(d wire.GroupDetail) string { return d.History[len(d.History)-1].Cause }

// field case 9: the reason of a failed wake is in the API, the wake is bounded, and nobody
// waits for ever.
func TestControl_failedWake_givesTheReasonEverywhere(t *testing.T) {
	const reason = "no node has 64 GiB of memory"
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		f := w.add(webID, quickPolicy)
		f.wakeErr = errors.New(reason)
		p := into[wire.Problem](t, w.do("POST", webID.WakePath()+"?wait=30s", ""), 504)
		if p.Type != wire.ProblemWakeFailed || !strings.Contains(p.Detail, reason) {
			t.Errorf("answered %+v", p)
		}
		if p.Wake == nil || !strings.Contains(p.Wake.Error, reason) ||
			p.Wake.Phases[0].Name != "place" || time.Duration(p.Wake.Took) != 10*time.Millisecond {
			t.Errorf("wake %+v", p.Wake)
		}
		got := w.group(webID)
		if got.State != wire.Failed || got.Error == "" || got.RetryAt.IsZero() ||
			!strings.Contains(got.Why, reason) {
			t.Errorf("group %+v", got.Group)
		}
		if last := got.History[len(got.History)-1]; !strings.Contains(last.Error, reason) {
			t.Errorf("history ends with %+v", last)
		}
	})
}
