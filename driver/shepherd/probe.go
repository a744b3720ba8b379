package shepherd

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"doze/healthgate"
)

// seldom is the interval of probes that can find nothing new.
const seldom = time.Hour

// probe is Spec.Probe as it is validated: without a port to probe it has to be left out.
func (s *Spec) probe() healthgate.ProbeConfig {
	p := s.Probe
	p.Dial = nil
	return p
}

// prober turns Spec.Probe into what the gate needs: probes of a relayed application go to
// its private port, those of a Socket one are not taken for use and have to be accepted,
// and commands run inside the task.
func (t *task) prober() healthgate.ProbeConfig {
	p := t.spec.probe()
	switch {
	case t.spec.Listen == "": // it is ready when it runs
		return healthgate.ProbeConfig{Interval: seldom, Dial: dialNobody}
	case p.Kind == "exec":
		argv := p.Command
		p.Kind, p.Command = "tcp", nil
		p.Dial = func(ctx context.Context, _, addr string) (net.Conn, error) {
			return t.probeByCommand(ctx, argv, addr)
		}
		return p
	}
	p.Dial = dialApp
	if socket, ok := t.port.(*socketPort); ok {
		p.Dial = socket.dial
		if p.Kind == "tcp" || p.Kind == "" {
			p.Dial = socket.dialAccepted
		}
	}
	return p
}

// dialNobody is for what needs no connection: one that is closed at once.
func dialNobody(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	return here, there.Close()
}

// probeByCommand runs a probe inside the task, where it can do no more than the task can.
func (t *task) probeByCommand(ctx context.Context, argv []string, addr string) (net.Conn, error) {
	path, err := t.spec.find(argv[0])
	if err != nil {
		return nil, &healthgate.ProbeError{Verdict: healthgate.Unknown, Err: err}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	app, _, _ := t.look()
	port := 0
	if app != nil {
		port = app.port
	}
	p, err := t.spawn(command{
		path: path, argv: argv, dir: t.spec.Dir,
		env:   t.spec.environ(port, []string{"DOZE_PROBE_ADDR=" + addr}),
		files: []*os.File{null, null, null},
	})
	if err != nil {
		return nil, &healthgate.ProbeError{Verdict: healthgate.Unknown, Err: err}
	}
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	if !p.state.Exited() || p.state.ExitStatus() != 0 {
		return nil, &healthgate.ProbeError{
			Verdict: healthgate.Busy,
			Err:     fmt.Errorf("command %q: exit status %d", argv[0], p.state.ExitStatus()),
		}
	}
	return dialNobody(ctx, "", "")
}
