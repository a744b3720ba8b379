package driver

import (
	"strings"
	"testing"

	"doze/driver/shepherd"
)

func TestDriver_ownLogs_areWrittenWhereNomadLooksForThem(t *testing.T) {
	for _, path := range []string{"/dev/null", ""} { // both say that Nomad collects none
		inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
			task := block(t, map[string]any{"command": "web",
				"logs": map[string]any{"max_files": 3, "max_file_size": 2}})
			task.StdoutPath, task.StderrPath = path, path
			if _, err := d.Start(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			want := shepherd.LogFiles{Dir: "/alloc/alloc/logs", Name: "web", MaxFiles: 3,
				MaxSize: 2 << 20}
			if got := flock.only().spec; got.Logs != want || got.Validate() != nil {
				t.Errorf("got %+v, %v", got.Logs, got.Validate())
			}
		})
	}
}

func TestDriver_ownLogsBesideNomads_areRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task := block(t, map[string]any{"command": "web", "logs": map[string]any{}})
		task.StdoutPath = "/alloc/alloc/logs/.web.stdout.fifo"
		task.StderrPath = "/alloc/alloc/logs/.web.stderr.fifo"
		_, err := d.Start(t.Context(), task)
		want := "config > logs: Nomad collects this task's logs already; " +
			"write logs { disabled = true } in the task, beside config, " +
			"or logs {} in the config of the agent's plugin block"
		if err == nil || !strings.Contains(err.Error(), want) || flock.launches > 0 {
			t.Errorf("got %v after %d launches", err, flock.launches)
		}
	})
}

func TestDriver_withoutABlock_logsAreNomads(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task := block(t, map[string]any{"command": "web"})
		task.StdoutPath = "/alloc/alloc/logs/.web.stdout.fifo"
		task.StderrPath = "/dev/null"
		if _, err := d.Start(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		got := flock.only().spec
		if got.Stdout != task.StdoutPath || got.Stderr != task.StderrPath ||
			got.Logs != (shepherd.LogFiles{}) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestDriver_logsOfTheAgent_areForTasksThatWantSome(t *testing.T) {
	const fifo = "/alloc/alloc/logs/.web.stdout.fifo"
	small := map[string]any{"max_files": 3, "max_file_size": 2}
	for _, c := range []struct {
		name, path string
		own        map[string]any
		files      int // 0: it writes none
	}{
		{"nothing said", fifo, nil, 7},
		{"sizes of its own", fifo, small, 3},
		{"switched off", "/dev/null", nil, 0},
		{"switched off at Nomad", "/dev/null", small, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
				cfg := agentBlock(t, map[string]any{"state_dir": ShortDir(t),
					"logs": map[string]any{"max_files": 7}})
				if err := d.Configure(t.Context(), cfg); err != nil {
					t.Fatal(err)
				}
				if !d.Capabilities().NoLogCollection {
					t.Error("Nomad collects, too")
				}
				config := map[string]any{"command": "web"}
				if c.own != nil {
					config["logs"] = c.own
				}
				task := block(t, config)
				task.StdoutPath, task.StderrPath = c.path, c.path
				if _, err := d.Start(t.Context(), task); err != nil {
					t.Fatal(err)
				}
				got := flock.only().spec
				if got.Logs.MaxFiles != c.files || got.Stdout == fifo || got.Validate() != nil {
					t.Errorf("got %+v, %v", got, got.Validate())
				}
			})
		})
	}
}
