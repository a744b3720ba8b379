package healthgate_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

func startedHealth(t testing.TB, cfg healthgate.HealthConfig) *healthgate.Health {
	t.Helper()
	cfg.Enabled = true
	h, err := healthgate.NewHealth(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.Start()
	return h
}

func fails(context.Context) error { return errors.New("secret-host refused") }

func askHealth(h http.Handler, method, path string, accept ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Header["Accept"] = accept
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHealth_answers_bodyByAcceptAndReport(t *testing.T) {
	quiet := startedHealth(t, healthgate.HealthConfig{
		Checks: []healthgate.Check{{Name: "db", Check: fails}},
	})
	open := startedHealth(t, healthgate.HealthConfig{ReportChecks: true, Checks: []healthgate.Check{
		{Name: "db", Check: fails}, {Name: "cache", Check: passes},
	}})
	fine := startedHealth(t, healthgate.HealthConfig{ReportChecks: true, Checks: []healthgate.Check{
		{Name: "cache", Check: passes},
	}})
	const draft = "application/health+json"
	for _, tc := range []struct {
		h            *healthgate.Health
		path, accept string
		status       int
		body         string
	}{
		{quiet, "/livez", "", 200, `{"status":"ok"}`},
		{quiet, "/livez", draft, 200, `{"status":"pass"}`},
		{quiet, "/readyz", "", 503, `{"status":"unavailable"}`},
		{quiet, "/readyz", draft, 503, `{"status":"fail"}`},
		{open, "/readyz", "", 503, `{"status":"unavailable","checks":{"db":"fail","cache":"ok"}}`},
		{open, "/readyz", draft, 503,
			`{"status":"fail","checks":{"db":[{"status":"fail"}],"cache":[{"status":"pass"}]}}`},
		{open, "/livez", "", 200, `{"status":"ok"}`},
		{fine, "/readyz", "", 200, `{"status":"ok","checks":{"cache":"ok"}}`},
		{fine, "/readyz", draft, 200, `{"status":"pass","checks":{"cache":[{"status":"pass"}]}}`},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			w := askHealth(tc.h, method, tc.path, tc.accept)
			want := tc.body
			if method == "HEAD" {
				want = ""
			}
			if w.Code != tc.status || w.Body.String() != want {
				t.Errorf("%s %s (%s): %d %s, want %d %s", method, tc.path, tc.accept,
					w.Code, w.Body, tc.status, want)
			}
			if got := w.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("%s %s: Cache-Control %q", method, tc.path, got)
			}
			media := map[bool]string{true: draft, false: "application/json"}[tc.accept == draft]
			if got := w.Header().Get("Content-Type"); got != media {
				t.Errorf("%s %s: Content-Type %q, want %q", method, tc.path, got, media)
			}
			if w.Header().Get("Content-Length") == "" {
				t.Errorf("%s %s: no Content-Length", method, tc.path)
			}
		}
	}
}

func TestHealth_accept_picksMediaType(t *testing.T) {
	h := startedHealth(t, healthgate.HealthConfig{})
	for _, tc := range []struct {
		accept []string
		draft  bool
	}{
		{nil, false},
		{[]string{"*/*"}, false},
		{[]string{"application/*"}, false},
		{[]string{"application/health+json"}, true},
		{[]string{"Application/Health+JSON; q=0.5, */*"}, true},
		{[]string{"text/html", "application/health+json"}, true},
		{[]string{"application/health+json, application/json"}, true},
		{[]string{"application/health+json;q=0.1, application/json"}, false},
		{[]string{"application/health+json;q=0"}, false},
		{[]string{"application/health+json;q=x"}, false},
		{[]string{"application/health+json;q=NaN"}, false},
		{[]string{"application/health+jsonx"}, false},
	} {
		w := askHealth(h, "GET", "/livez", tc.accept...)
		if got := w.Header().Get("Content-Type") == "application/health+json"; got != tc.draft {
			t.Errorf("Accept %q: draft %t, want %t", tc.accept, got, tc.draft)
		}
	}
}

func TestHealth_otherMethod_is405AndRunsNoCheck(t *testing.T) {
	ran := false
	h := startedHealth(t, healthgate.HealthConfig{Checks: []healthgate.Check{
		{Name: "db", Check: func(context.Context) error { ran = true; return nil }},
	}})
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"} {
		for _, path := range []string{"/livez", "/readyz"} {
			w := askHealth(h, method, path)
			if w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q", method, path, w.Code, w.Header().Get("Allow"))
			}
			if w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s may be cached", method, path)
			}
		}
	}
	if ran {
		t.Error("a check ran")
	}
}

func TestHealth_wrap_answersExactPathsBeforeEverything(t *testing.T) {
	h := startedHealth(t, healthgate.HealthConfig{LivenessPath: "/_/alive"})
	guard := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	})
	wrapped := h.Wrap(guard)
	for path, want := range map[string]int{
		"/_/alive":          200,
		"/readyz":           200,
		"/readyz?verbose":   200,
		"/livez":            401, // moved away
		"/readyz/":          401,
		"/Readyz":           401,
		"/%72eadyz":         401,
		"/_/../readyz":      401,
		"//readyz":          401,
		"http://evil/hello": 401,
	} {
		if w := askHealth(wrapped, "GET", path); w.Code != want {
			t.Errorf("GET %s: status %d, want %d", path, w.Code, want)
		}
	}
	if w := askHealth(h, "GET", "/elsewhere"); w.Code != 404 {
		t.Errorf("plain handler, other path: status %d", w.Code)
	}
}

func TestHealth_sharedHeaders_areNotChangedByOthers(t *testing.T) {
	h := startedHealth(t, healthgate.HealthConfig{})
	w := askHealth(h, "GET", "/livez")
	w.Header().Add("Cache-Control", "private")
	if got := askHealth(h, "GET", "/livez").Header().Values("Cache-Control"); len(got) != 1 {
		t.Errorf("the next answer has Cache-Control %q", got)
	}
}

func TestHealth_callerLeaves_getsUnavailableAndRunGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		h := startedHealth(t, healthgate.HealthConfig{Checks: []healthgate.Check{{
			Name: "slow", Check: func(ctx context.Context) error {
				runs++
				time.Sleep(500 * time.Millisecond)
				return ctx.Err()
			},
		}}})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/readyz", nil))
		if w.Code != 503 {
			t.Errorf("the one who left: status %d", w.Code)
		}
		if w := askHealth(h, "GET", "/readyz"); w.Code != 200 || runs != 1 {
			t.Errorf("the one who stayed: status %d after %d runs, want 200 after 1", w.Code, runs)
		}
	})
}

func FuzzHealth_accept(f *testing.F) {
	h := startedHealth(f, healthgate.HealthConfig{})
	f.Add("application/health+json;q=0.5,*/*")
	f.Add(";;q==,,")
	f.Fuzz(func(t *testing.T, accept string) {
		if w := askHealth(h, "GET", "/livez", accept); w.Code != 200 {
			t.Fatalf("Accept %q: status %d", accept, w.Code)
		}
	})
}
