package shepherd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"doze/driver/shepherd/cgroup"
	"doze/driver/shepherd/frame"
)

// execParams is ExecSpec on the wire; sizes follow as messages.
type execParams struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	TTY  bool     `json:"tty"`
}

// exec runs a command beside the application until it ends or the caller leaves.
func (s *server) exec(ctx context.Context, c *frame.Call) (any, error) {
	p, err := params[execParams](c)
	if err != nil {
		return nil, err
	}
	if len(p.Argv) == 0 {
		return nil, errors.New("cannot execute: no command is given")
	}
	t := s.task
	if t.hasEnded() {
		return nil, ErrExited
	}
	t.enter() // until its end
	defer t.leave()
	if err := t.rouse(ctx, "exec"); err != nil {
		return nil, err
	}
	d, child, err := t.startBeside(p)
	for errors.Is(err, cgroup.ErrFrozen) { // the sleep was faster
		if err := t.rouse(ctx, "exec"); err != nil {
			return nil, err
		}
		d, child, err = t.startBeside(p)
	}
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.carry(ctx, child, c)
}

// stdio are the ends of a command's descriptors that stay here.
type stdio struct {
	in       *os.File
	out, err *os.File // err nil: a terminal
	terminal *os.File // nil: none
	theirs   []*os.File
}

// startBeside starts a command in the task. What it returns without an error is to be closed.
func (t *task) startBeside(p execParams) (*stdio, *process, error) {
	path, err := t.spec.find(p.Argv[0])
	if err != nil {
		return nil, nil, err
	}
	d, err := newStdio(p.TTY)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot execute: %w", err)
	}
	app, _, _ := t.look()
	port := 0
	if app != nil {
		port = app.port
	}
	child, err := t.spawn(command{
		path: path, argv: p.Argv, dir: t.spec.Dir, tty: p.TTY,
		env: t.spec.environ(port, p.Env), files: d.theirs, owned: d.theirs,
		stays: true,
	})
	if err != nil {
		d.close()
		return nil, nil, err
	}
	return d, child, nil
}

// carry passes the streams on until the command has ended and all it wrote has been sent.
func (d *stdio) carry(ctx context.Context, child *process, c *frame.Call) (any, error) {
	var outputs, input sync.WaitGroup
	outputs.Go(func() { pass(c.Writer(frame.Stdout), d.out) })
	if d.err != nil {
		outputs.Go(func() { pass(c.Writer(frame.Stderr), d.err) })
	}
	ctx, cancel := context.WithCancel(ctx)
	input.Go(func() { d.feed(ctx, c) })
	err := child.wait(ctx)
	// what it has started may hold its output open: nobody waits for that
	d.cut()
	outputs.Wait()
	cancel()
	input.Wait()
	if err != nil {
		return nil, err
	}
	if child.state.Signaled() {
		return Exit{Signal: int(child.state.Signal())}, nil
	}
	return Exit{Code: child.state.ExitStatus()}, nil
}

// pass sends what a command writes, to its end. A caller who has left ends the call, not
// this: the command must not block on a full pipe before it is killed.
func pass(to io.Writer, from io.Reader) {
	if _, err := io.Copy(to, from); err != nil {
		_, _ = io.Copy(io.Discard, from)
	}
}

// feed passes the caller's input and sizes on.
func (d *stdio) feed(ctx context.Context, c *frame.Call) {
	for {
		select {
		case f, ok := <-c.Frames():
			if !ok {
				return
			}
			d.take(f)
		case <-ctx.Done():
			return
		}
	}
}

func (d *stdio) take(f frame.Frame) {
	switch {
	case f.Kind == frame.Stdin && len(f.Content) == 0:
		d.endInput()
	case f.Kind == frame.Stdin:
		_, _ = d.in.Write(f.Content) // a command that does not read is no error
	case f.Kind == frame.Message:
		var size Size
		if f.Decode(&size) == nil && d.terminal != nil {
			_ = resize(d.terminal, size) // a size that can't be is no reason to end
		}
	}
}
