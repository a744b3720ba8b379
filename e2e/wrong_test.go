//go:build e2e

package e2e

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"doze/api/wire"
)

// Wrong jobs are told of, with what, where and what to do; the right ones go on working.
func TestWrong_jobs_areToldOfAndTheRestWorks(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "right", app: "web"})
		c.register(t, jobSpec{id: "misspelt", app: "web", policy: map[string]any{"idle_afer": "1m"}})
		c.register(t, jobSpec{id: "mistyped", app: "web", policy: map[string]any{"max_held": "many"}})
		c.register(t, jobSpec{id: "twin", app: "web", policy: map[string]any{
			"route": []map[string]any{{"hosts": []string{"right.localhost"}}}}})
		floor := c.job(t, jobSpec{id: "floor", app: "web", count: 1})
		floor.TaskGroups[0].Scaling.Min = new(int64(1))
		_, _, err := c.client.Jobs().Register(floor, c.write())
		fail(t, err)
		portless := c.job(t, jobSpec{id: "portless", app: "web"})
		portless.TaskGroups[0].Networks = nil
		_, _, err = c.client.Jobs().Register(portless, c.write())
		fail(t, err)
		d := startDoze(t, c)
		d.mustGet("right.localhost", "/")
		var list wire.DiagnosticList
		d.read(wire.DiagnosticsPath, &list)
		for job, want := range map[string]string{
			"misspelt": "idle_after", "mistyped": "max_held", "twin": "right.localhost",
			"floor": "min", "portless": "port",
		} {
			if text := told(list, job); !strings.Contains(text, want) {
				t.Errorf("of job %s it is told %q, without %q", job, text, want)
			}
		}
		out, err := d.cli("status")
		if err != nil || !strings.Contains(out, "idle_afer") {
			t.Errorf("doze status (%v) does not tell of the misspelt key:\n%s", err, out)
		}
	})
}

func told(list wire.DiagnosticList, job string) string {
	var text []string
	for _, d := range list.Diagnostics {
		if d.Job == job {
			text = append(text, d.Path+": "+d.Problem+" "+d.Hint)
		}
	}
	return strings.Join(text, "\n")
}

// field cases 9 and 24: a wake that cannot work fails, with the reason for the operator
// and none for the client.
func TestWrong_appThatEnds_failsWithReason(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "broken", app: "web", env: map[string]string{"E2E_EXIT": "7"},
			policy: map[string]any{"wake_timeout": "20s"}})
		d := startDoze(t, c)
		d.waitState("broken", wire.Asleep)
		got, err := d.get("broken.localhost", "/")
		fail(t, err)
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
			t.Errorf("the client got status %d, Retry-After %q", got.status,
				got.header.Get("Retry-After"))
		}
		if strings.Contains(got.body, "7") && strings.Contains(got.body, "exit") {
			t.Errorf("the client is told the reason: %q", got.body)
		}
		group, _ := d.group("broken")
		if !strings.Contains(group.Error, "7") {
			t.Errorf("the operator is told %q, not the exit code", group.Error)
		}
	})
}

// Requests to the API that cannot be answered say why.
func TestWrong_apiRequests_sayWhatAndWhatToDo(t *testing.T) {
	d := startDoze(t, embedded(t))
	for path, want := range map[string]int{
		"/v1/groups/default/nobody/web":    http.StatusNotFound,
		"/v1/groups?colour=red":            http.StatusBadRequest,
		"/v1/groups?state=sleepy":          http.StatusBadRequest,
		"/v2/groups":                       http.StatusNotFound,
		"/v1/events?namespace=a&group=%zz": http.StatusBadRequest,
	} {
		resp, err := http.Get("http://" + d.api + path)
		fail(t, err)
		resp.Body.Close()
		if resp.StatusCode != want || resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s answers %d %s, want %d", path, resp.StatusCode,
				resp.Header.Get("Content-Type"), want)
		}
	}
	c := d.cluster
	c.register(t, jobSpec{id: "body", app: "web"})
	d.waitState("body", wire.Asleep)
	resp, err := http.Post("http://"+d.api+d.id("body").WakePath(), "application/json",
		strings.NewReader("not json"))
	fail(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a body that is no JSON answers %d", resp.StatusCode)
	}
}

// A NOMAD_ADDR that answers HTML, and one that nobody listens at: doze serve says so, is
// not ready, and goes on trying.
func TestWrong_nomadAddress_isToldAndNotReady(t *testing.T) {
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Welcome</title>"))
	}))
	defer html.Close()
	for _, addr := range []string{html.URL, "http://127.0.0.1:1"} {
		ports := freePorts(t, 2)
		var out strings.Builder
		cmd := exec.Command(binary, "serve", "-gate-address", ports[0], "-api-address", ports[1],
			"-nomad-address", addr)
		cmd.Stderr = &out
		fail(t, cmd.Start())
		time.Sleep(1500 * time.Millisecond) // it must still be there afterwards
		resp, err := http.Get("http://" + ports[1] + wire.ReadyPath)
		fail(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: /readyz answers %d", addr, resp.StatusCode)
		}
		fail(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		if !strings.Contains(out.String(), addr) {
			t.Errorf("the log does not name %s:\n%s", addr, out.String())
		}
	}
}
