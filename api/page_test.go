package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"doze/api"
	"doze/idle"
)

// field case 6: a page only for navigations, never with 200, never kept.
func TestPage_navigationToSleepingGroup_getsPage(t *testing.T) {
	s := setup{site: api.Site{Waiting: api.WaitPage}, app: &app{bootTime: 5 * time.Second}}
	inWorld(t, s, func(w *world) {
		a := w.navigate("/")
		w.wantStatus(a, 503)
		w.wantRetry(a)
		if a.took > 100*time.Millisecond {
			t.Errorf("the page took %v", a.took)
		}
		w.mustContain(a.Header.Get("Content-Type"), "text/html")
		w.mustContain(a.body, `http-equiv="refresh"`)
		w.wantState(idle.Waking)
		time.Sleep(7 * time.Second)
		if a := w.navigate("/"); a.StatusCode != 200 || a.body != "hello" {
			t.Errorf("after the wake: %d %q", a.StatusCode, a.body)
		}
		w.wantWakes(1)
	})
}

// field case 6: an API client is held instead.
func TestPage_otherRequestsToSleepingGroup_areHeld(t *testing.T) {
	s := setup{site: api.Site{Waiting: api.WaitPage}, app: &app{bootTime: 5 * time.Second}}
	inWorld(t, s, func(w *world) {
		post := w.request("POST", "/", strings.NewReader("x"))
		post.Header.Set("Accept", "text/html")
		if a := w.do(post); a.StatusCode != 200 || a.took < 5*time.Second {
			t.Errorf("POST: %d after %v", a.StatusCode, a.took)
		}
		w.must(w.group.Sleep(w.t.Context(), "test", true))
		w.wantStatus(w.get("/"), 200)
	})
}

func TestPage_notANavigation_isHeld(t *testing.T) {
	for name, headers := range map[string]http.Header{
		"fetch":           {"Sec-Fetch-Mode": {"cors"}, "Accept": {"text/html"}},
		"any type":        {"Accept": {"*/*"}},
		"json":            {"Accept": {"application/json"}},
		"XMLHttpRequest":  {"Accept": {"text/html"}, "X-Requested-With": {"XMLHttpRequest"}},
		"html not wanted": {"Accept": {"text/html;q=0, */*"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := setup{site: api.Site{Waiting: api.WaitPage}, app: &app{bootTime: time.Second}}
			inWorld(t, s, func(w *world) {
				r := w.request("GET", "/", nil)
				r.Header = headers
				w.wantStatus(w.do(r), 200)
			})
		})
	}
}

func TestPage_autoMode_holdsFirst(t *testing.T) {
	inWorld(t, setup{app: &app{bootTime: time.Second}}, func(w *world) {
		w.wantStatus(w.navigate("/"), 200)
	})
	inWorld(t, setup{app: &app{bootTime: 5 * time.Second}}, func(w *world) {
		a := w.navigate("/")
		w.wantStatus(a, 503)
		if a.took != 1500*time.Millisecond {
			t.Errorf("the page came after %v, want 1.5s", a.took)
		}
		w.wantStatus(w.get("/"), 200)
	})
}

func TestPage_rejectMode_answersAtOnceAndWakes(t *testing.T) {
	s := setup{site: api.Site{Waiting: api.WaitReject}, app: &app{bootTime: time.Second}}
	inWorld(t, s, func(w *world) {
		a := w.get("/")
		w.wantStatus(a, 503)
		if retry := a.Header.Get("Retry-After"); retry != "2" {
			t.Errorf("Retry-After is %q, want 2", retry)
		}
		time.Sleep(2 * time.Second)
		w.wantStatus(w.get("/"), 200)
		w.wantWakes(1)
	})
}

func TestPage_failedWake_saysSoWithoutReason(t *testing.T) {
	inWorld(t, setup{app: &app{fail: errors.New("secret-image can't be pulled")}}, func(w *world) {
		a := w.navigate("/")
		w.wantStatus(a, 503)
		w.wantRetry(a)
		w.mustContain(a.Header.Get("Content-Type"), "text/html")
		if strings.Contains(a.body, "secret") {
			t.Errorf("the page tells the reason: %q", a.body)
		}
	})
}

func TestPage_loadsNothingAndNeedsNoScript(t *testing.T) {
	s := setup{site: api.Site{Waiting: api.WaitPage}, app: &app{never: true}}
	inWorld(t, s, func(w *world) {
		body := w.navigate("/").body
		for _, part := range []string{"<script", "src=", "href=", "url(", "@import"} {
			if strings.Contains(body, part) {
				t.Errorf("the page contains %q", part)
			}
		}
		for _, part := range []string{`lang="en"`, `role="status"`, "prefers-reduced-motion",
			"within 1 minute at", `http-equiv="refresh" content="1"`} {
			w.mustContain(body, part)
		}
		if len(body) > 4096 {
			t.Errorf("the page has %d bytes", len(body))
		}
	})
}

func TestParseWaitingMode(t *testing.T) {
	for word, want := range map[string]api.WaitingMode{"": api.WaitAuto, "auto": api.WaitAuto,
		"hold": api.WaitHold, "page": api.WaitPage, "reject": api.WaitReject} {
		if got, err := api.ParseWaitingMode(word); err != nil || got != want {
			t.Errorf("%q: %v, %v", word, got, err)
		}
	}
	if _, err := api.ParseWaitingMode("wait"); err == nil {
		t.Error("no error for an unknown mode")
	}
}
