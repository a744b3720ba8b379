//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"doze/internal/devnomad"
)

const requestID = "X-Request-Id"

// countedApps runs tasks as servers of this process, which count how often each request
// arrives, by its ID. An application answers with the number of bytes it was sent. Only
// these applications are ready at the path ready: a port may be somebody else's on a machine
// where several clusters run.
type countedApps struct {
	ready string
	mu    sync.Mutex
	times map[string]int
}

func newCountedApps() *countedApps {
	return &countedApps{ready: "/ready/" + rand.Text(), times: map[string]int{}}
}

func (a *countedApps) seen(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.times[id]
}

func (a *countedApps) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/ready/") {
		if r.URL.Path != a.ready {
			http.NotFound(w, r)
		}
		return
	}
	a.mu.Lock()
	a.times[r.Header.Get(requestID)]++
	a.mu.Unlock()
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	fmt.Fprint(w, n)
}

// Start implements devnomad.Runner.
func (a *countedApps) Start(_ context.Context, spec devnomad.TaskSpec) (devnomad.Task, error) {
	port := spec.Ports[0]
	listener, err := net.Listen("tcp", net.JoinHostPort(port.HostIP, strconv.Itoa(port.Value)))
	if err != nil {
		return nil, err
	}
	task := &countedApp{server: &http.Server{Handler: a}, done: make(chan struct{})}
	go func() { // ends with Stop
		defer close(task.done)
		_ = task.server.Serve(listener) // only says that it was closed
	}()
	return task, nil
}

// countedApp is one task.
type countedApp struct {
	server *http.Server
	done   chan struct{}
}

func (a *countedApp) Wait(ctx context.Context) (devnomad.Exit, error) {
	select {
	case <-a.done:
		return devnomad.Exit{}, nil
	case <-ctx.Done():
		return devnomad.Exit{}, ctx.Err()
	}
}

func (a *countedApp) Signal(string) error { return nil }

func (a *countedApp) Stop(ctx context.Context, _ string, grace time.Duration) error {
	soft, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if a.server.Shutdown(soft) != nil {
		_ = a.server.Close() // what is left is cut, as a kill does
	}
	_, err := a.Wait(ctx)
	return err
}
