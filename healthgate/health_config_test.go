package healthgate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"doze/healthgate"
)

func passes(context.Context) error { return nil }

func expectConfigErrors(t *testing.T, cfg healthgate.HealthConfig, lines ...string) {
	t.Helper()
	_, err := healthgate.NewHealth(cfg)
	if err == nil {
		t.Fatalf("no error, want\n%s", strings.Join(lines, "\n"))
	}
	if got, want := err.Error(), strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestHealthConfig_fieldsWithoutEnabled_areAllErrors(t *testing.T) {
	expectConfigErrors(t, healthgate.HealthConfig{
		Checks:        []healthgate.Check{{Name: "a", Check: passes}},
		CacheInterval: time.Second, LivenessPath: "/a", ReadinessPath: "/b", ReportChecks: true,
	},
		"checks: has no effect unless enabled is set",
		"cache_interval: has no effect unless enabled is set",
		"liveness_path: has no effect unless enabled is set",
		"readiness_path: has no effect unless enabled is set",
		"report_checks: has no effect unless enabled is set",
	)
}

func TestHealthConfig_badChecksAndPath_areReportedAtOnce(t *testing.T) {
	long := strings.Repeat("n", 65)
	expectConfigErrors(t, healthgate.HealthConfig{
		Enabled: true, ReadinessPath: "ready",
		Checks: []healthgate.Check{
			{}, {Name: "a b", Check: passes}, {Name: "a", Check: passes, Timeout: -1},
			{Name: "a", Check: passes}, {Name: long, Check: passes}, {Name: "ä", Check: passes}, {},
		},
	},
		`checks[0] "": a name is required`,
		`checks[0] "": a check function is required`,
		`checks[1] "a b": the name may hold letters, digits, -, . and _ only`,
		`checks[2] "a": the timeout -1ns is negative`,
		`checks[3] "a": checks[2] has that name already`,
		`checks[4] "`+long+`": the name is longer than 64 characters`,
		`checks[5] "ä": the name may hold letters, digits, -, . and _ only`,
		`checks[6] "": a name is required`,
		`checks[6] "": a check function is required`,
		`readiness_path "ready": must begin with /`,
	)
}

func TestHealthConfig_badPath_isErrorWithHint(t *testing.T) {
	for path, want := range map[string]string{
		"ready":    `must begin with /`,
		"/":        `would take the root from the application`,
		"/a//b":    `is not clean; did you mean "/a/b"?`,
		"/a/..":    `is not clean; did you mean "/"?`,
		"/readyz/": `is not clean; did you mean "/readyz"?`,
		"/a%20b":   `only letters, digits and -._~/ need no encoding`,
		"/a?b":     `only letters, digits and -._~/ need no encoding`,
		"/livez":   `is the liveness path too; a restart and a pause need two answers`,
	} {
		expectConfigErrors(t, healthgate.HealthConfig{Enabled: true, ReadinessPath: path},
			fmt.Sprintf("readiness_path %q: %s", path, want))
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
