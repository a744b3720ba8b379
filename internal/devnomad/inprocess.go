package devnomad

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// errRefused is what a connection to a port without a listener gets.
var errRefused = syscall.ECONNREFUSED

// InProcess is a Runner whose tasks are functions of the same process that
// listen on pipes: no sockets, no files, fit for a synctest bubble. Reach their
// ports with DialContext.
type InProcess struct {
	// Run is a task's life: it ends when ctx does, at the latest. What it
	// returns is the exit code. nil: Handler is used.
	Run func(ctx context.Context, spec TaskSpec, listen Listen) int

	// Handler serves HTTP on the first port of a task when Run is nil; it is
	// called once a start.
	Handler func(spec TaskSpec) http.Handler

	// Boot is how long a task with a Handler takes until it listens.
	Boot time.Duration

	mu    sync.Mutex
	ports map[string]*Pipe
}

// Listen opens the port with this label, or the first port for "".
type Listen func(label string) (net.Listener, error)

// Start implements Runner.
func (p *InProcess) Start(ctx context.Context, spec TaskSpec) (Task, error) {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &inProcessTask{cancel: cancel, done: make(chan struct{})}
	life := p.Run
	if life == nil {
		life = p.serve
	}
	go func() { // ends with Stop, or by itself
		defer close(t.done)
		t.exit = Exit{Code: life(run, spec, func(label string) (net.Listener, error) {
			return p.listen(run, spec, label)
		})}
		cancel()
	}()
	return t, nil
}

func (p *InProcess) listen(ctx context.Context, spec TaskSpec, label string) (net.Listener, error) {
	for _, port := range spec.Ports {
		if label != "" && port.Label != label {
			continue
		}
		addr := net.JoinHostPort(port.HostIP, strconv.Itoa(port.Value))
		pipe := NewPipe()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ports == nil {
			p.ports = map[string]*Pipe{}
		}
		p.ports[addr] = pipe
		context.AfterFunc(ctx, func() { p.closePort(addr, pipe) })
		return pipe, nil
	}
	return nil, fmt.Errorf("cannot listen on port %q: the group has no such port", label)
}

func (p *InProcess) closePort(addr string, pipe *Pipe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pipe.Close() // never fails
	if p.ports[addr] == pipe {
		delete(p.ports, addr)
	}
}

// DialContext connects to the port of a running task; nobody listening there
// refuses, as a real host does.
func (p *InProcess) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	p.mu.Lock()
	pipe := p.ports[address]
	p.mu.Unlock()
	if pipe == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errRefused}
	}
	return pipe.DialContext(ctx, network, address)
}

func (p *InProcess) serve(ctx context.Context, spec TaskSpec, listen Listen) int {
	if p.Handler == nil || len(spec.Ports) == 0 {
		<-ctx.Done()
		return 0
	}
	if !sleep(ctx, p.Boot) {
		return 0
	}
	l, err := listen("")
	if err != nil {
		return 1
	}
	srv := &http.Server{
		Handler: p.Handler(spec), BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { srv.Close() }) // the task is ending; nothing to tell
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return 1
	}
	return 0
}

type inProcessTask struct {
	cancel context.CancelFunc
	done   chan struct{}
	exit   Exit // set before done is closed
}

// Wait implements Task.
func (t *inProcessTask) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-t.done:
		return t.exit, nil
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}

// Signal implements Task: there is nobody to get one.
func (t *inProcessTask) Signal(string) error { return nil }

// Stop implements Task.
func (t *inProcessTask) Stop(ctx context.Context, _ string, _ time.Duration) error {
	t.cancel()
	_, err := t.Wait(ctx)
	return err
}
