package driver

import (
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"

	"doze/plugins"
	"doze/plugins/drivers"
)

// IsPlugin reports whether a Nomad agent has started this process as a plugin.
func IsPlugin() bool { return plugins.Launched() }

// Main serves the driver to the agent that has started this process, and returns the
// process's exit status when the agent ends it; the tasks go on. cmd/doze calls it first
// thing where IsPlugin says so.
func Main(version string) int {
	err := plugins.Serve(func(log hclog.Logger) drivers.Driver {
		return New(Config{Version: version, Log: log})
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "doze:", err)
		return 1
	}
	return 0
}
