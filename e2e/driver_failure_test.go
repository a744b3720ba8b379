//go:build e2e

package e2e

import (
	"net"
	"testing"
)

// testFailures: whatever goes wrong with a task ends in a task event that says what.
func testFailures(t *testing.T, d *driven) {
	squatter, err := net.Listen("tcp", "127.0.0.1:0")
	fail(t, err)
	defer squatter.Close()
	listen := map[string]any{"listen": "http"}
	for _, c := range []struct {
		job  drivenJob
		do   string // the request that makes it go wrong
		want []string
	}{
		{drivenJob{id: "config", config: map[string]any{"listen": "htpp", "start": "lazy"}}, "",
			[]string{`config > start: is "lazy"`, `no port is labelled "htpp"; there are http`}},
		{drivenJob{id: "missing", config: map[string]any{"command": "local/nothing"}}, "",
			[]string{"local/nothing"}},
		{drivenJob{id: "squat", config: listen, port: squatter.Addr().(*net.TCPAddr).Port}, "",
			[]string{"the port is in use"}},
		{drivenJob{id: "memory", config: listen}, "/eat",
			[]string{"Exit Code: 137, Signal: 9", "OOM Killed"}},
		{drivenJob{id: "crash", config: listen, env: map[string]string{"E2E_EXIT": "5"}}, "",
			[]string{"Exit Code: 5"}},
		{drivenJob{id: "deaf", config: map[string]any{"listen": "http", "wake_timeout": "1s"},
			env: map[string]string{"E2E_DELAY": "1h"}}, "", []string{"no target passed its probe"}},
		{drivenJob{id: "closed", config: map[string]any{"listen": "http", "wake_timeout": "1s"}},
			"/close", []string{"no target passed its probe"}},
	} {
		t.Run(c.job.id, func(t *testing.T) { d.in(t).goWrong(c.job, c.do, c.want) })
	}
}

func (d *driven) goWrong(job drivenJob, do string, want []string) {
	d.t.Helper()
	d.register(job)
	if do != "" {
		d.whoAnswers(job.id)
		_, _ = d.get(job.id, do)  // the app dies of it
		_, _ = d.get(job.id, "/") // or cannot answer any more
	}
	for _, words := range want {
		d.awaitEvent(job.id, words)
	}
}
