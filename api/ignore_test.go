package api_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"doze/api"
	"doze/idle"
)

var monitors = api.Site{Ignore: api.Ignore{
	Paths:      []string{"/healthz", "/.well-known/*"},
	UserAgents: []string{"UptimeRobot"},
}}

func (w *world) monitor(path string) answer {
	r := w.request("GET", path, nil)
	r.Header.Set("User-Agent", "Mozilla/5.0 (compatible; uptimerobot/2.0)")
	return w.do(r)
}

// field case 7: a monitor neither wakes a group nor is told that it is down.
// field case 8: nor does anything else that is ignored.
func TestIgnore_sleepingGroup_answersWithoutWaking(t *testing.T) {
	inWorld(t, setup{site: monitors}, func(w *world) {
		for _, a := range []answer{w.get("/healthz"), w.get("/.well-known/x"), w.monitor("/")} {
			w.wantStatus(a, 200)
		}
		time.Sleep(time.Minute)
		w.wantState(idle.Asleep)
		w.wantWakes(0)
	})
}

// field case 7: awake it sees the application, and is not what keeps it awake.
func TestIgnore_readyGroup_isPassedOnUncounted(t *testing.T) {
	inWorld(t, setup{site: monitors, awake: true}, func(w *world) {
		for range 20 {
			a := w.get("/healthz")
			w.wantStatus(a, 200)
			time.Sleep(idleAfter / 10)
		}
		w.wantState(idle.Asleep)
		if a := w.get("/healthz"); a.body == "hello" {
			t.Error("the answer is the application's, which sleeps")
		}
		w.wantWakes(1)
	})
}

// field case 7: after a failed wake it must alarm.
func TestIgnore_failedWake_is503(t *testing.T) {
	inWorld(t, setup{site: monitors, app: &app{fail: errors.New("no memory left")}}, func(w *world) {
		w.wantStatus(w.get("/"), 503)
		w.wantStatus(w.get("/healthz"), 503)
		w.wantWakes(1)
	})
}

func TestIgnore_Match(t *testing.T) {
	for _, c := range []struct {
		path, agent string
		want        bool
	}{
		{"/healthz", "", true},
		{"/healthz/x", "", false},
		{"/.well-known/", "", true},
		{"/", "UptimeRobot/2", true},
		{"/", "my-UPTIMEROBOT", true},
		{"/", "Uptime Robot", false},
		{"/", "", false},
	} {
		r, err := http.NewRequest("GET", "http://x"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User-Agent", c.agent)
		if got := monitors.Ignore.Match(r); got != c.want {
			t.Errorf("path %q, agent %q: %v", c.path, c.agent, got)
		}
	}
}
