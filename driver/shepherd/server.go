package shepherd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"doze/driver/shepherd/cgroup"
	"doze/driver/shepherd/frame"
	"doze/idle"
)

// server answers the calls of Client.
type server struct {
	task     *task
	listener *net.UnixListener
	missing  []string
	destroy  context.CancelFunc
}

// Names of the calls.
const (
	callStatus  = "status"
	callWait    = "wait"
	callStop    = "stop"
	callDestroy = "destroy"
	callSignal  = "signal"
	callSleep   = "sleep"
	callWake    = "wake"
	callStats   = "stats"
	callEvents  = "events"
	callExec    = "exec"
)

// Parameters of the calls that have any.
type (
	stopParams struct {
		Timeout time.Duration `json:"timeout"`
		Signal  string        `json:"signal"`
	}
	signalParams struct {
		Signal string `json:"signal"`
	}
	sleepParams struct {
		Depth idle.Depth `json:"depth"`
	}
)

func (s *server) serve(ctx context.Context) error {
	calls := frame.Server{Code: codeOf, Handlers: map[string]frame.Handler{
		callStatus:  s.status,
		callWait:    s.wait,
		callStop:    s.stop,
		callDestroy: s.end,
		callSignal:  s.signal,
		callSleep:   s.sleep,
		callWake:    s.wake,
		callStats:   s.stats,
		callEvents:  s.events,
		callExec:    s.exec,
	}}
	return calls.Serve(ctx, s.listener)
}

// codes are the errors that keep their identity over the wire.
func codes() map[string]error {
	return map[string]error{
		"exited": ErrExited, "in_use": ErrInUse, "no_freezer": cgroup.ErrNoFreezer,
	}
}

func codeOf(err error) string {
	for code, sentinel := range codes() {
		if errors.Is(err, sentinel) {
			return code
		}
	}
	return ""
}

func params[P any](c *frame.Call) (P, error) {
	var p P
	if err := json.Unmarshal(c.Params, &p); err != nil {
		return p, fmt.Errorf("cannot read parameters: %w", err)
	}
	return p, nil
}

func (s *server) status(context.Context, *frame.Call) (any, error) {
	return s.task.status(s.missing), nil
}

func (s *server) wait(ctx context.Context, _ *frame.Call) (any, error) {
	select {
	case <-s.task.ended:
		return s.task.status(nil).Exit, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// stop goes on when the caller leaves: half a stop helps nobody.
func (s *server) stop(ctx context.Context, c *frame.Call) (any, error) {
	p, err := params[stopParams](c)
	if err != nil {
		return nil, err
	}
	return nil, s.task.stop(context.WithoutCancel(ctx), ending{p.Signal, p.Timeout})
}

// end kills at once; the rest is taken away when Main returns.
func (s *server) end(ctx context.Context, _ *frame.Call) (any, error) {
	err := s.task.stop(context.WithoutCancel(ctx), ending{timeout: -1})
	s.destroy()
	return nil, err
}

func (s *server) signal(ctx context.Context, c *frame.Call) (any, error) {
	p, err := params[signalParams](c)
	if err != nil {
		return nil, err
	}
	sig, err := parseSignal(p.Signal, 0)
	if err != nil {
		return nil, err
	}
	if sig == 0 {
		return nil, errors.New("no signal is named")
	}
	return nil, s.task.signal(ctx, sig)
}

func (s *server) sleep(ctx context.Context, c *frame.Call) (any, error) {
	p, err := params[sleepParams](c)
	if err != nil {
		return nil, err
	}
	if p.Depth != idle.Freeze && p.Depth != idle.Park {
		return nil, fmt.Errorf("cannot sleep as deep as %s: a task freezes or parks", p.Depth)
	}
	return nil, s.task.sleepNow(ctx, p.Depth)
}

func (s *server) wake(ctx context.Context, _ *frame.Call) (any, error) {
	return nil, s.task.wakeNow(ctx)
}

func (s *server) stats(context.Context, *frame.Call) (any, error) {
	return s.task.stats(), nil
}

// events sends one event after the other. One is told when the caller has said so: what he
// did not get, the next caller does.
func (s *server) events(ctx context.Context, c *frame.Call) (any, error) {
	for {
		e, err := s.task.journal.next(ctx)
		if err != nil {
			return nil, err
		}
		if err := c.SendMessage(e); err != nil {
			s.task.journal.untold(e)
			return nil, err
		}
		if _, ok := <-c.Frames(); !ok {
			s.task.journal.untold(e)
			return nil, context.Cause(ctx)
		}
	}
}
