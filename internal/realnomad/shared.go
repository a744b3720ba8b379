package realnomad

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the one agent of a test process.
var shared struct {
	sync.Mutex
	agent *Agent
	err   error
}

// Shared returns the test process's own agent, started at the first call, with
// the first caller's Config. The package's TestMain has to call Main. Where
// there is no nomad, and with -short, the test is skipped, and says so.
func Shared(tb testing.TB, cfg Config) *Agent {
	tb.Helper()
	if testing.Short() {
		tb.Skip("SKIP: -short; the contract with a real Nomad was not checked")
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.agent == nil && shared.err == nil {
		shared.agent, shared.err = Start(cfg)
	}
	if errors.Is(shared.err, ErrNotFound) {
		tb.Skip("SKIP: nomad is not on PATH; the contract with a real Nomad was not checked")
	}
	if shared.err != nil {
		tb.Fatalf("cannot start a real Nomad: %v", shared.err)
	}
	return shared.agent
}

// Main runs a package's tests and ends the shared agent: os.Exit(realnomad.Main(m)).
func Main(m *testing.M) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.agent != nil {
		if err := shared.agent.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "realnomad:", err)
			return 1
		}
	}
	return code
}
