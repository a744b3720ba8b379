package healthgate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	outputLimit = 512                    // bytes of a command's output kept for the error
	outputGrace = 100 * time.Millisecond // for what a command left running with its output
)

// execProbe runs a command, in a process group of its own so that all of it can be killed.
type execProbe struct{ argv []string }

func (p *execProbe) Probe(ctx context.Context, addr string) error {
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	cmd.Env = append(os.Environ(), "DOZE_PROBE_ADDR="+addr)
	out := &head{limit: outputLimit}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = outputGrace
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return &ProbeError{Unknown, fmt.Errorf("cannot start probe %q: %w", p.argv[0], err)}
	}
	err := cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = killGroup(cmd) // it passed, and left something running that held its output
	}
	return p.judge(ctx, err, out)
}

func (p *execProbe) judge(ctx context.Context, err error, out *head) error {
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return unanswered(ctx, err)
	case exited && exit.ExitCode() >= 0:
		return rejected("command %q: %w%s", p.argv[0], err, out)
	}
	return &ProbeError{Unknown, fmt.Errorf("command %q died: %w%s", p.argv[0], err, out)}
}

// head keeps the first limit bytes written to it.
type head struct {
	buf   bytes.Buffer
	limit int
}

func (h *head) Write(b []byte) (int, error) {
	h.buf.Write(b[:min(len(b), h.limit-h.buf.Len())])
	return len(b), nil
}

// String returns the first line, ready to be appended to an error.
func (h *head) String() string {
	line, _, _ := strings.Cut(strings.TrimSpace(h.buf.String()), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}
