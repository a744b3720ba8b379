package shepherd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"doze/driver/shepherd/cgroup"
	"doze/driver/shepherd/frame"
	"doze/idle"
)

var (
	// ErrGone: no shepherd answers. Its children are gone too, or going; see Sweep.
	ErrGone = errors.New("the shepherd is gone")
	// ErrExited: the application has ended, so there is nothing to do it to.
	ErrExited = errors.New("the task has exited")
	// ErrInUse: connections are open, so the task was not put to sleep.
	ErrInUse = errors.New("the task is in use")
)

// Stats is what a task has used.
type Stats = cgroup.Stats

// Client talks to one shepherd. It holds no connection, so it need not be closed, and one
// made by Connect after a restart is as good as Launch's. All methods are safe for
// concurrent use and return ErrGone (perhaps wrapped) when no shepherd answers.
type Client struct {
	dir string
}

// Connect finds the shepherd that dir belongs to, or returns ErrGone.
func Connect(ctx context.Context, dir string) (*Client, error) {
	c := At(dir)
	if _, err := c.Status(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// At is a client of the shepherd that dir belongs to; whether there is one shows when it is
// asked.
func At(dir string) *Client { return &Client{dir: dir} }

func (c *Client) socket() string { return filepath.Join(c.dir, socketName) }

// do makes a call that has one answer.
func (c *Client) do(ctx context.Context, call string, params, result any) error {
	return translate(frame.Do(ctx, c.socket(), call, params, result))
}

// translate gives the other side's errors their identity back.
func translate(err error) error {
	if errors.Is(err, frame.ErrNobody) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	remote, ok := errors.AsType[*frame.RemoteError](err)
	if !ok {
		return err
	}
	sentinel := codes()[remote.Code]
	switch {
	case sentinel == nil:
		return err
	case sentinel.Error() == remote.Text:
		return sentinel
	}
	return &markedError{text: remote.Text, is: sentinel}
}

// markedError has its own words and a sentinel's identity.
type markedError struct {
	text string
	is   error
}

func (e *markedError) Error() string { return e.text }
func (e *markedError) Unwrap() error { return e.is }

// Wait returns how the application ended, at once when it has ended already. Any number of
// callers may wait. The end of a process that is parked is no exit.
func (c *Client) Wait(ctx context.Context) (Exit, error) {
	var e Exit
	err := c.do(ctx, callWait, nil, &e)
	return e, err
}

// Stop ends the application: thawed, told by the signal ("" is SIGTERM), killed after
// timeout (0: 5s, negative: at once) with everything that it started.
// It returns when it is gone; nil when it was gone before, or there is no shepherd. It goes
// on when ctx ends.
func (c *Client) Stop(ctx context.Context, timeout time.Duration, signal string) error {
	err := c.do(ctx, callStop, stopParams{Timeout: timeout, Signal: signal}, nil)
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// Destroy kills everything, removes the cgroups and dir, and ends the shepherd. nil when
// there is none. After it Wait has nobody to ask.
func (c *Client) Destroy(ctx context.Context) error {
	err := c.do(ctx, callDestroy, nil, nil)
	if err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	return c.awaitGone(ctx)
}

// awaitGone waits until the shepherd's directory is gone, its last deed.
func (c *Client) awaitGone(ctx context.Context) error {
	for {
		if _, err := c.Status(ctx); err != nil && !exists(c.dir) {
			return nil
		}
		if !pause(ctx, 2*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// Signal sends a signal ("SIGHUP", "HUP" or "1") to the application's process, thawed
// first. A parked task has none: nobody is told, which is an event (EventUnheard) and no
// error. After its end it is ErrExited.
func (c *Client) Signal(ctx context.Context, name string) error {
	return c.do(ctx, callSignal, signalParams{Signal: name}, nil)
}

// Sleep freezes or parks the task now, as deep as depth, also where Spec has no such step,
// and returns when that has happened. What has not been ready yet is not frozen. Relayed
// connections stay open, and a byte from a client wakes it again; with Socket activation it
// is ErrInUse while any is open, and with either while a command runs (Exec).
func (c *Client) Sleep(ctx context.Context, depth idle.Depth) error {
	return c.do(ctx, callSleep, sleepParams{Depth: depth}, nil)
}

// Wake wakes the task and returns when it is ready, or why it is not.
func (c *Client) Wake(ctx context.Context) error { return c.do(ctx, callWake, nil, nil) }

// Status returns a snapshot; it never waits for the task.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	call, err := frame.Dial(ctx, c.socket(), callStatus, nil)
	if err != nil {
		return s, translate(err)
	}
	defer call.Close()
	_, _, err = call.Next(ctx, &s)
	s.Shepherd = call.Peer()
	return s, translate(err)
}

// Stats reads the cgroup; without one there is nothing but zeros.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	err := c.do(ctx, callStats, nil, &s)
	return s, err
}

// Events calls yield for each event that nobody has been told yet, oldest first, and goes
// on until ctx ends, yield returns an error (both are returned) or the shepherd is gone. An
// event whose yield failed is told again. At most the last 64 are kept for a reader who
// comes late.
func (c *Client) Events(ctx context.Context, yield func(Event) error) error {
	call, err := frame.Dial(ctx, c.socket(), callEvents, nil)
	if err != nil {
		return translate(err)
	}
	defer call.Close()
	for {
		f, more, err := call.Next(ctx, nil)
		if err != nil || !more {
			return translate(err)
		}
		var e Event
		if err := f.Decode(&e); err != nil {
			return err
		}
		if err := yield(e); err != nil {
			return err
		}
		if err := call.SendMessage(e.Seq); err != nil {
			return translate(fmt.Errorf("%w: %w", frame.ErrNobody, err))
		}
	}
}
