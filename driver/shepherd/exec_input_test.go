package shepherd_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"doze/driver/shepherd"
)

// torrent is an input without an end, once the command runs. It tells when more of it was
// taken than is kept on the way to a command that does not read.
type torrent struct {
	runs <-chan struct{}
	much func()
	left int // reads until then
}

func (f *torrent) Read(p []byte) (int, error) {
	<-f.runs
	if f.left--; f.left == 0 {
		f.much()
	}
	return len(p), nil
}

// Whoever sends more than the command reads is heard all the same when he leaves.
func TestClient_execGivenUpWithUnreadInput_killsTheCommand(t *testing.T) {
	for name, tty := range map[string]bool{"pipes": false, "a terminal": true} {
		t.Run(name, func(t *testing.T) {
			c := launch(t, spec(t, "http"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			runs := make(chan struct{})
			input := &torrent{runs: runs, much: cancel, left: 7} // of 32 KiB; a pipe keeps two
			begun := sync.OnceFunc(func() { close(runs) })
			out := writerFunc(func(p []byte) (int, error) {
				begun()
				return len(p), nil
			})
			sleeps := shepherd.ExecSpec{TTY: tty,
				Argv: []string{"sh", "-c", "echo here; exec sleep 1003"}}
			if _, err := c.Exec(ctx, sleeps, input, out, nil); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			await(t, c, "out of use", func(s shepherd.Status) bool { return s.InFlight == 0 })
			await(t, c, "rid of it", func(shepherd.Status) bool {
				all := run(t, c, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
				return !strings.Contains(all, "sleep 1003 ")
			})
		})
	}
}
