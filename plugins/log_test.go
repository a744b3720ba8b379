package plugins_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"doze/plugins/host"
)

// A node's operator reads what a driver says in the agent's log: at the driver's level, in its
// own words, and with the values beside them. Trace lines are for nobody.
func TestLog_driversLine_reachesTheAgentAtItsLevel(t *testing.T) {
	cmd, log := plugin(t, "probe"), make(agentsLog, 16)
	cmd.Log = hclog.New(&hclog.LoggerOptions{Name: "agent", Level: hclog.Trace, Output: log,
		JSONFormat: true})
	p, err := host.Launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	configure(t, p)
	if err := p.Signal(t.Context(), "a/b/c", "log at every level"); err != nil {
		t.Fatal(err)
	}
	module := "agent." + filepath.Base(cmd.Path)
	for _, level := range levels()[1:] {
		want := agentsLine{Level: level.String(), Message: spoken + level.String(),
			Module: module, TaskID: "a/b/c", Error: "two\nlines"}
		select {
		case got := <-log:
			if got != want {
				t.Errorf("the line of level %s arrives as %+v", level, got)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("the line of level %s does not arrive", level)
		}
	}
}

// agentsLog is the output of an agent that logs JSON: of its lines, those that are the driver's
// own, and none of go-plugin's.
type agentsLog chan agentsLine

type agentsLine struct {
	Level   string `json:"@level"`
	Message string `json:"@message"`
	Module  string `json:"@module"`
	TaskID  string `json:"task_id"`
	Error   string `json:"error"`
}

// Write implements io.Writer: a line at a time.
func (log agentsLog) Write(p []byte) (int, error) {
	var line agentsLine
	if err := json.Unmarshal(p, &line); err != nil {
		return 0, err
	}
	if strings.HasPrefix(line.Message, spoken) {
		log <- line
	}
	return len(p), nil
}
