package shepherd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

func TestClient_exec_carriesStreamsAndStatus(t *testing.T) {
	c := launch(t, spec(t, "http"))
	var out, complaints bytes.Buffer
	e, err := c.Exec(t.Context(), shepherd.ExecSpec{
		Argv: []string{"sh", "-c", "cat; echo oops >&2; echo $EXTRA; pwd; exit 3"},
		Env:  []string{"EXTRA=more"},
	}, strings.NewReader("input\n"), &out, &complaints)
	if err != nil || e.Code != 3 || e.Signal != 0 {
		t.Fatal(e, err)
	}
	if complaints.String() != "oops\n" || !strings.HasPrefix(out.String(), "input\nmore\n/") {
		t.Fatalf("%q %q", out.String(), complaints.String())
	}
	suicide := shepherd.ExecSpec{Argv: []string{"sh", "-c", "kill -9 $$"}}
	e, err = c.Exec(t.Context(), suicide, nil, nil, nil)
	if err != nil || e.Signal != int(syscall.SIGKILL) {
		t.Fatal(e, err)
	}
	for _, argv := range [][]string{{"no-such-command"}, nil, {"/etc/passwd"}} {
		if _, err := c.Exec(t.Context(), shepherd.ExecSpec{Argv: argv}, nil, nil, nil); err == nil {
			t.Errorf("%v was executed", argv)
		}
	}
}

func TestClient_exec_muchOutput_arrivesWhole(t *testing.T) {
	c := launch(t, spec(t, "http"))
	var out bytes.Buffer
	in := bytes.Repeat([]byte("x"), 3<<20)
	cat := shepherd.ExecSpec{Argv: []string{"cat"}}
	e, err := c.Exec(t.Context(), cat, bytes.NewReader(in), &out, nil)
	if err != nil || e.Code != 0 || !bytes.Equal(out.Bytes(), in) {
		t.Fatalf("%v %v %d bytes", e, err, out.Len())
	}
}

func TestClient_execWithATerminal_hasItsSize(t *testing.T) {
	c := launch(t, spec(t, "http"))
	sizes := make(chan shepherd.Size, 1)
	sizes <- shepherd.Size{Width: 132, Height: 43}
	in, feed := io.Pipe()
	var out bytes.Buffer
	done := make(chan error, 1)
	var e shepherd.Exit
	go func() {
		var err error
		e, err = c.Exec(context.Background(), shepherd.ExecSpec{
			Argv: []string{"sh", "-c", "read go; stty size; tty; exit 4"}, TTY: true, Size: sizes,
		}, in, &out, nil)
		done <- err
	}()
	for len(sizes) > 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond) // the size is on its way, and is not answered
	if _, err := feed.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || e.Code != 4 {
		t.Fatal(e, err)
	}
	_ = feed.Close()
	wantIn(t, out.String(), "43 132")
	wantIn(t, out.String(), "/dev/pts/")
}

func TestClient_execInTheFrozen_thawsAndKeepsAwake(t *testing.T) {
	withFreezer(t)
	s := spec(t, "http")
	s.FreezeAfter = 30 * time.Millisecond
	c := launch(t, s)
	await(t, c, "frozen", func(s shepherd.Status) bool { return s.Depth == idle.Freeze })
	out := run(t, c, "sh", "-c", "sleep 0.2; echo done")
	if out != "done\n" {
		t.Fatalf("%q", out)
	}
	if s := status(t, c); s.Wakes != 1 {
		t.Fatalf("it slept while a command ran: %+v", s)
	}
}

func TestClient_execGivenUp_killsTheCommand(t *testing.T) {
	c := launch(t, spec(t, "http"))
	ctx, cancel := context.WithCancel(t.Context())
	in, feed := io.Pipe()
	defer feed.Close()
	out := writerFunc(func(p []byte) (int, error) {
		cancel() // it runs
		return len(p), nil
	})
	_, err := c.Exec(ctx, shepherd.ExecSpec{
		Argv: []string{"sh", "-c", "touch started; echo here; sleep 1000"},
	}, in, out, nil)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	await(t, c, "rid of it", func(shepherd.Status) bool {
		all := run(t, c, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
		return !strings.Contains(all, "sleep 1000 ")
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestClient_execInANeverReadyTask_isPossible(t *testing.T) {
	s := spec(t, "never")
	s.WakeTimeout = 50 * time.Millisecond
	c := launch(t, s)
	awaitState(t, c, idle.Failed)
	if out := run(t, c, "echo", "look"); out != "look\n" {
		t.Fatalf("%q", out)
	}
}
