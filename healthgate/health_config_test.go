package healthgate_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"doze/healthgate"
)

func passes(context.Context) error { return nil }

func TestHealthConfig_invalid_reportsEveryProblemAtOnce(t *testing.T) {
	long := strings.Repeat("n", 65)
	for name, tc := range map[string]struct {
		cfg  healthgate.HealthConfig
		want []string // one line each, in order
	}{
		"fields without enabled": {
			healthgate.HealthConfig{
				Checks:        []healthgate.Check{{Name: "a", Check: passes}},
				CacheInterval: time.Second, LivenessPath: "/a", ReadinessPath: "/b",
				ReportChecks: true,
			},
			[]string{
				"checks: has no effect unless enabled is set",
				"cache_interval: has no effect unless enabled is set",
				"liveness_path: has no effect unless enabled is set",
				"readiness_path: has no effect unless enabled is set",
				"report_checks: has no effect unless enabled is set",
			},
		},
		"checks": {
			healthgate.HealthConfig{Enabled: true, Checks: []healthgate.Check{
				{}, {Name: "a b", Check: passes}, {Name: "a", Check: passes, Timeout: -1},
				{Name: "a", Check: passes}, {Name: long, Check: passes},
				{Name: "ä", Check: passes}, {},
			}},
			[]string{
				`checks[0] "": a name is required`,
				`checks[0] "": a check function is required`,
				`checks[1] "a b": the name may hold letters, digits, -, . and _ only`,
				`checks[2] "a": the timeout -1ns is negative`,
				`checks[3] "a": checks[2] has that name already`,
				`checks[4] "` + long + `": the name is longer than 64 characters`,
				`checks[5] "ä": the name may hold letters, digits, -, . and _ only`,
				`checks[6] "": a name is required`,
				`checks[6] "": a check function is required`,
			},
		},
		"paths": {
			healthgate.HealthConfig{Enabled: true, LivenessPath: "alive", ReadinessPath: "/a//b"},
			[]string{
				`liveness_path "alive": must begin with /`,
				`readiness_path "/a//b": is not clean; did you mean "/a/b"?`,
			},
		},
		"encoded path": {
			healthgate.HealthConfig{Enabled: true, LivenessPath: "/a%20b", ReadinessPath: "/a/.."},
			[]string{
				`liveness_path "/a%20b": only letters, digits and -._~/ need no encoding`,
				`readiness_path "/a/..": is not clean; did you mean "/"?`,
			},
		},
		"root": {
			healthgate.HealthConfig{Enabled: true, ReadinessPath: "/"},
			[]string{`readiness_path "/": would take the root from the application`},
		},
		"trailing slash": {
			healthgate.HealthConfig{Enabled: true, ReadinessPath: "/readyz/"},
			[]string{`readiness_path "/readyz/": is not clean; did you mean "/readyz"?`},
		},
		"equal by default": {
			healthgate.HealthConfig{Enabled: true, ReadinessPath: "/livez"},
			[]string{`readiness_path "/livez": is the liveness path too; ` +
				`a restart and a pause need two answers`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := healthgate.NewHealth(tc.cfg)
			if err == nil {
				t.Fatal("no error")
			}
			if got, want := err.Error(), strings.Join(tc.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestHealthConfig_routeAnswersPath_isError(t *testing.T) {
	for pattern, taken := range map[string]bool{
		"/":              false,
		"GET /":          false,
		"/{rest...}":     false,
		"/livez/{$}":     true, // the same
		"/other/":        false,
		"/livez":         true,
		"POST /livez":    true,
		"/livez/":        true, // ServeMux redirects /livez there
		"/{id}":          true,
		"GET /{id}":      true,
		"DELETE /{x...}": false,
	} {
		t.Run(strings.ReplaceAll(pattern, "/", "|"), func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle(pattern, http.NotFoundHandler())
			_, err := healthgate.NewHealth(healthgate.HealthConfig{Enabled: true, Routes: mux})
			if (err != nil) != taken {
				t.Errorf("error %v, want one: %t", err, taken)
			}
			if err != nil && !strings.Contains(err.Error(), pattern) {
				t.Errorf("error %q does not name the route %q", err, pattern)
			}
		})
	}
}

func TestHealth_zeroConfig_servesNothing(t *testing.T) {
	h, err := healthgate.NewHealth(healthgate.HealthConfig{})
	if err != nil {
		t.Fatal(err)
	}
	h.Start()
	next := http.NewServeMux()
	if got := h.Wrap(next); got != http.Handler(next) {
		t.Errorf("Wrap returned %T, want next itself", got)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/livez", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("status %d, want 404", w.Code)
	}
}

// A path that is accepted is served as it is written, and needs no encoding.
func FuzzHealthConfig_paths(f *testing.F) {
	for _, p := range []string{"/livez", "/_/alive", "//", "/a/../b", "/%6c", "/ä", "/a?b", "", "*"} {
		f.Add(p, "/readyz")
		f.Add("/livez", p)
	}
	f.Fuzz(func(t *testing.T, live, ready string) {
		h, err := healthgate.NewHealth(healthgate.HealthConfig{
			Enabled: true, LivenessPath: live, ReadinessPath: ready,
		})
		if err != nil {
			return
		}
		h.Start()
		for _, p := range []string{live, ready} {
			if p == "" {
				continue
			}
			if escaped := (&url.URL{Path: p}).EscapedPath(); escaped != p || p[0] != '/' {
				t.Fatalf("path %q is sent as %q", p, escaped)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", p, nil))
			if w.Code != http.StatusOK {
				t.Fatalf("GET %q: status %d", p, w.Code)
			}
		}
	})
}

// A name that is accepted appears in the bodies as it is.
func FuzzHealthConfig_names(f *testing.F) {
	for _, n := range []string{"database", "a.b-c_d", `a"b`, "a\nb", "ä", "\xff", ""} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, name string) {
		h, err := healthgate.NewHealth(healthgate.HealthConfig{
			Enabled: true, ReportChecks: true,
			Checks: []healthgate.Check{{Name: name, Check: passes}},
		})
		if err != nil {
			return
		}
		h.Start()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		var body struct{ Checks map[string]string }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatalf("body %q: %v", w.Body, err)
		}
		if body.Checks[name] != "ok" || len(body.Checks) != 1 {
			t.Fatalf("name %q: body %q", name, w.Body)
		}
	})
}
