package plugins_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/hashicorp/go-hclog"

	"doze/plugins"
	"doze/plugins/drivers"
	"doze/plugins/host"
)

// driverVar says, to the test binary started as a plugin, which driver to be.
const driverVar = "PLUGINS_TEST_DRIVER"

// serveVar makes the test binary a plugin also where no agent has started it.
const serveVar = "PLUGINS_TEST_SERVE"

func TestMain(m *testing.M) {
	if !plugins.Launched() && os.Getenv(serveVar) == "" {
		if os.Getenv(agentVar) != "" {
			os.Exit(beAgent())
		}
		os.Exit(m.Run())
	}
	if err := plugins.Serve(testDriver); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func testDriver(log hclog.Logger) drivers.Driver {
	switch os.Getenv(driverVar) {
	case "probe":
		return newProbe(log)
	case "process":
		return &Process{}
	case "mute":
		return Mute{&Plain{}}
	case "unnamed":
		return Unnamed{&Plain{}}
	case "shapeless":
		return Shapeless{&Plain{}}
	default:
		return &Plain{}
	}
}

// plugin is this test binary as a plugin.
func plugin(t *testing.T, driver string) host.Command {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return host.Command{Path: path, Env: []string{driverVar + "=" + driver,
		"GORACE=halt_on_error=1 atexit_sleep_ms=0"}} // else a second at every exit
}
