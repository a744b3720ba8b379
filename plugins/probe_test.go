package plugins_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/hclspec"
)

// Probe is a driver that does what the id of a task says, badly where it can.
type Probe struct {
	drivers.EventLog
	log        hclog.Logger
	checked    atomic.Int32
	configured atomic.Int32
}

func newProbe(log hclog.Logger) *Probe {
	fmt.Println("a constructor that prints to stdout")
	return &Probe{log: log}
}

func (*Probe) Info() base.Info { return base.Info{Name: "probe", Version: "0.1.0"} }

func (*Probe) ConfigSchema() hclspec.Spec {
	return hclspec.Object{"refuse": hclspec.Attr{Type: "bool"}}
}

func (p *Probe) CheckConfig(cfg base.Config) error {
	p.checked.Add(1)
	var c struct {
		Refuse bool `hcl:"refuse"`
	}
	if err := cfg.Decode(&c); err != nil {
		return err
	}
	if c.Refuse {
		return errors.New("this configuration is refused")
	}
	return nil
}

func (p *Probe) Configure(context.Context, base.Config) error {
	p.configured.Add(1)
	return nil
}

func (*Probe) TaskSchema() hclspec.Spec {
	return hclspec.Object{"size": hclspec.Default{
		Primary: hclspec.Attr{Type: "number"}, Fallback: hclspec.Number(1.5)}}
}

func (*Probe) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{NoMounts: true, NoLogCollection: true, DynamicUsers: true,
		Filesystem: drivers.FilesystemChroot,
		Networks:   []drivers.NetworkMode{drivers.NetworkHost, drivers.NetworkGroup}}
}

func (p *Probe) Fingerprint(_ context.Context, send func(drivers.Fingerprint) error) error {
	return send(drivers.Fingerprint{Health: drivers.Unhealthy, Reason: "it is a probe",
		Attributes: map[string]drivers.Attribute{
			"driver.probe.text": drivers.Text("x"), "driver.probe.flag": drivers.Flag(true),
			"driver.probe.whole":   drivers.Whole(5, "MiB"),
			"driver.probe.decimal": drivers.Decimal(0.5, ""),
			"driver.probe.checked": drivers.Whole(int64(p.checked.Load()), "")}})
}

func (p *Probe) Start(_ context.Context, task drivers.TaskConfig) (drivers.Started, error) {
	switch task.ID {
	case "recoverable":
		err := drivers.Recoverable(errors.New("the disk is full"))
		return drivers.Started{}, fmt.Errorf("cannot start: %w", err)
	case "fatal":
		return drivers.Started{}, errors.New("there is no such command")
	case "unavailable":
		inner := status.Error(codes.Unavailable, "connection refused")
		return drivers.Started{}, fmt.Errorf("cannot reach the shim: %w", inner)
	case "canceled":
		return drivers.Started{}, fmt.Errorf("cannot wait for the shim: %w", context.Canceled)
	}
	return drivers.Started{State: []byte("state of " + task.ID), Version: 7,
		Network: &drivers.NetworkOverride{IP: "10.0.0.1", Ports: map[string]int32{"http": 80}}}, nil
}

func (p *Probe) Recover(_ context.Context, h drivers.Handle) error {
	p.Emit(drivers.Event{TaskID: h.Task.ID, Message: fmt.Sprintf(
		"recovered from %q, version %d, %d bytes of config", h.State, h.Version, len(h.Task.Raw))})
	return nil
}

func (*Probe) Wait(ctx context.Context, id string) (drivers.ExitResult, error) {
	switch id {
	case "forever":
		<-ctx.Done()
		return drivers.ExitResult{}, ctx.Err()
	case "unknown":
		return drivers.ExitResult{}, fmt.Errorf("cannot wait: %w", drivers.ErrTaskNotFound)
	case "message":
		return drivers.ExitResult{Code: 1, Message: "the port is in use"}, nil
	}
	return drivers.ExitResult{}, nil
}

func (*Probe) Stop(_ context.Context, id string, how drivers.StopRequest) error {
	switch id {
	case "unknown":
		return fmt.Errorf("cannot stop: %w", drivers.ErrTaskNotFound)
	case "exited":
		return fmt.Errorf("cannot stop: %w", drivers.ErrTaskExited)
	}
	return fmt.Errorf("asked to stop by %q in %s", how.Signal, how.Timeout)
}

func (*Probe) Destroy(_ context.Context, id string, _ bool) error {
	return fmt.Errorf("cannot destroy %q: %w", id, drivers.ErrTaskNotFound)
}

func (*Probe) Inspect(context.Context, string) (drivers.Status, error) {
	return drivers.Status{}, nil
}

func (*Probe) Stats(ctx context.Context, id string, every time.Duration,
	send func(drivers.Stats) error) error {
	if id == "ended" {
		return nil
	}
	if err := send(drivers.Stats{}); err != nil { // no time, no usage
		return err
	}
	<-ctx.Done()
	return nil
}

func (p *Probe) Signal(_ context.Context, id, signal string) error {
	switch signal {
	case "log":
		for range 50 {
			p.log.Error("a line to an agent that may be gone")
		}
	case "log at every level":
		for _, level := range levels() {
			p.log.Log(level, spoken+level.String(), "task_id", id, "error",
				errors.New("two\nlines"))
		}
	default:
		return fmt.Errorf("there is no signal %q", signal)
	}
	return nil
}

// spoken begins what a Probe logs when it is asked to.
const spoken = "a line of level "

// levels are those of the lines that an agent gets, and first the one that it does not.
func levels() []hclog.Level {
	return []hclog.Level{hclog.Trace, hclog.Debug, hclog.Info, hclog.Warn, hclog.Error}
}

func (p *Probe) Exec(ctx context.Context, id string, s drivers.Session) (drivers.ExitResult, error) {
	switch s.Command[0] {
	case "missing":
		return drivers.ExitResult{}, errors.New("there is no such command")
	case "hang":
		<-ctx.Done()
		p.Emit(drivers.Event{TaskID: id, Message: "the caller has left"})
		return drivers.ExitResult{}, ctx.Err()
	case "pour":
		chunk := make([]byte, 5<<20)
		_, err := s.Stdout.Write(chunk)
		return drivers.ExitResult{}, err
	case "count":
		n, err := io.Copy(io.Discard, s.Stdin)
		return drivers.ExitResult{}, errors.Join(err, print(s.Stdout, n))
	case "size":
		size := <-s.Resize
		_, err := fmt.Fprintf(s.Stdout, "%dx%d tty=%t", size.Width, size.Height, s.TTY)
		return drivers.ExitResult{}, err
	}
	in := bufio.NewScanner(s.Stdin)
	for in.Scan() {
		if _, err := io.WriteString(s.Stdout, "got "+in.Text()+"\n"); err != nil {
			return drivers.ExitResult{}, err
		}
	}
	_, err := io.WriteString(s.Stderr, "bye")
	return drivers.ExitResult{Code: 3}, err
}

func print(to io.Writer, what any) error {
	_, err := fmt.Fprint(to, what)
	return err
}

// Mute is a driver with nothing optional.
type Mute struct{ *Plain }

func (m Mute) Info() base.Info { return base.Info{Name: "mute", Version: "0.1.0"} }

// Events and Inspect hide the Plain's.
func (Mute) Events() {}

func (Mute) Inspect() {}

// Unnamed is a driver that no agent would take.
type Unnamed struct{ *Plain }

func (Unnamed) Info() base.Info { return base.Info{Name: "a b", Version: "dev"} }

func (Unnamed) TaskSchema() hclspec.Spec {
	return hclspec.Object{"a": hclspec.Default{
		Primary: hclspec.Attr{Type: "string"}, Fallback: hclspec.Literal("hello")}}
}

// Shapeless is a driver without a schema for tasks, which agents follow unasked.
type Shapeless struct{ *Plain }

func (Shapeless) TaskSchema() hclspec.Spec { return nil }
