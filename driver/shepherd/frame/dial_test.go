package frame_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd/frame"
)

// Whoever takes these for the other side's end ends a task that is well.
func TestDial_ownTroubles_areNotTheOthersEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for name, dial := range map[string]func(context.Context) error{
		"no descriptor": func(ctx context.Context) error {
			defer withoutDescriptors(t)()
			_, err := frame.Dial(ctx, path, "call", nil)
			return err
		},
		"no time": func(ctx context.Context) error {
			_, err := frame.Dial(late{ctx}, path, "call", nil)
			return err
		},
	} {
		if err := dial(t.Context()); err == nil || errors.Is(err, frame.ErrNobody) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// late is past its deadline and does not know yet: its timer has not been served.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

// withoutDescriptors lets this process open nothing, until it is undone.
func withoutDescriptors(t *testing.T) (undo func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	none := before
	none.Cur = 3
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDial_nobodyThere_isSaidToBeSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if _, err := frame.Dial(t.Context(), path, "call", nil); !errors.Is(err, frame.ErrNobody) {
		t.Errorf("without a socket: %v", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := frame.Dial(t.Context(), path, "call", nil); !errors.Is(err, frame.ErrNobody) {
		t.Errorf("with a socket that nobody listens at: %v", err)
	}
}
