package healthgate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// ProbeError is the error of a probe together with what it means for the target.
type ProbeError struct {
	Verdict Verdict // Busy, Dead or Unknown
	Err     error
}

func (e *ProbeError) Error() string { return e.Err.Error() }

func (e *ProbeError) Unwrap() error { return e.Err }

// errDied is what is known of a probe that ended without a word.
var errDied = &ProbeError{Unknown, errors.New("the probe died without a verdict")}

// VerdictOf classifies the error of a probe: nil is Up; refused is Dead; late or rejected
// is Busy; everything that does not say what it means is Unknown.
func VerdictOf(err error) Verdict {
	if err == nil {
		return Up
	}
	if pe, ok := errors.AsType[*ProbeError](err); ok {
		return pe.Verdict
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Busy
	case errors.Is(err, syscall.ECONNREFUSED):
		return Dead
	}
	return Unknown
}

// isLate reports whether err means that the time was not enough for a target that listens.
func isLate(err error) bool {
	return VerdictOf(err) == Busy && errors.Is(err, context.DeadlineExceeded)
}

// rejected: the target answered, but not with what was asked for.
func rejected(format string, args ...any) error {
	return &ProbeError{Busy, fmt.Errorf(format, args...)}
}

// unanswered classifies a failure after the connection stood: late when the time was up,
// Unknown when the probe was called off, otherwise a target that cannot answer yet.
func unanswered(ctx context.Context, err error) error {
	switch ctx.Err() {
	case nil:
		return &ProbeError{Busy, fmt.Errorf("no answer: %w", err)}
	case context.DeadlineExceeded:
		return &ProbeError{Busy, fmt.Errorf("no answer in time: %w", ctx.Err())}
	}
	return &ProbeError{Unknown, fmt.Errorf("called off: %w", context.Cause(ctx))}
}

// dial connects to addr. Its error is a *ProbeError with ErrDial in its chain, or the one that
// the dialler has returned itself: it knows better what it means.
func dial(ctx context.Context, d DialFunc, addr string) (net.Conn, error) {
	if d == nil {
		d = new(net.Dialer).DialContext
	}
	conn, err := d(ctx, "tcp", addr)
	if err == nil {
		return conn, nil
	}
	if _, known := errors.AsType[*ProbeError](err); known {
		return nil, err
	}
	return nil, &ProbeError{dialVerdict(ctx, err), fmt.Errorf("%w: %w", ErrDial, err)}
}

// dialVerdict tells a target that nobody serves (Dead) from a probe that could not ask
// (Unknown): no file descriptor or local port left, not permitted, not a usable address.
func dialVerdict(ctx context.Context, err error) Verdict {
	if errors.Is(ctx.Err(), context.Canceled) {
		return Unknown
	}
	if IsShortage(err) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
		return Unknown
	}
	if _, ok := errors.AsType[*net.AddrError](err); ok {
		return Unknown
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && !dns.IsTimeout {
		return Unknown
	}
	return Dead
}

// ask runs one attempt of probe under timeout. A panic is a death of the probe, a yes that
// comes after the time is up is late, and a probe that ctx cut short says nothing.
func ask(ctx context.Context, probe Probe, addr string, timeout time.Duration) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &ProbeError{Unknown, fmt.Errorf("the probe died: %v", v)}
		}
	}()
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = probe.Probe(timed, addr)
	switch {
	case ctx.Err() != nil:
		return &ProbeError{Unknown, fmt.Errorf("called off: %w", context.Cause(ctx))}
	case err == nil && timed.Err() != nil:
		return unanswered(timed, timed.Err())
	}
	return err
}
