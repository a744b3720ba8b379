package driver

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"

	"doze/plugins/drivers"
)

// The node's operator reads it, also after a restart of the plugin; whoever looks at the task
// itself has the shepherd's event.
func TestDriver_machineRefusesATaskIsolation_isInTheAgentsLog(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		var log, later bytes.Buffer
		d.log = hclog.New(&hclog.LoggerOptions{Output: &log})
		_, started := mustStart(t, d)
		next := newDriver(t, flock)
		next.log = hclog.New(&hclog.LoggerOptions{Output: &later})
		defer shutdown(t, next)
		if err := next.Recover(t.Context(), drivers.Handle{State: started.State}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for when, text := range map[string]string{"start": log.String(), "recovery": later.String()} {
			if strings.Count(text, "[WARN]  a task is less isolated than it should be: "+
				`task_id=alloc/web/1 missing="own /proc: refused"`) != 1 {
				t.Errorf("after its %s the log says %q", when, text)
			}
		}
	})
}
