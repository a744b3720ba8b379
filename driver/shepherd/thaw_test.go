package shepherd_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"doze/driver/shepherd"
	"doze/driver/shepherd/cgroup"
	"doze/idle"
)

// Who waits for a task that can't be thawed is let go, and the next wake tries again.
func TestClient_thawFails_endsTheConnectionAndIsTriedAgain(t *testing.T) {
	s := spec(t, "echo")
	freezer := newBrokenFreezer(t, s.Dir)
	s.Cgroup = cgroup.Spec{Legacy: map[string]string{"freezer": string(freezer)}}
	c := launch(t, s)
	conn := dial(t, c)
	echo(t, conn, "before")
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Freeze)
	signalApp(t, c, syscall.SIGSTOP)
	freezer.fail(t)
	if _, err := conn.Write([]byte("after")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if len(got) > 0 || os.IsTimeout(err) {
		t.Errorf("with a thaw that failed a client is sent %q, %v", got, err)
	}
	st := awaitState(t, c, idle.Failed)
	if !strings.Contains(st.Err, "cannot thaw: ") || st.Depth != idle.Freeze {
		t.Errorf("%+v", st)
	}
	freezer.mend(t)
	signalApp(t, c, syscall.SIGCONT)
	await(t, c, "woken again", func(shepherd.Status) bool { return c.Wake(t.Context()) == nil })
	echo(t, dial(t, c), "again")
}

// brokenFreezer is the directory of a cgroup v1 freezer that says what it is told to and stops
// nobody.
type brokenFreezer string

func newBrokenFreezer(t *testing.T, parent string) brokenFreezer {
	t.Helper()
	dir := filepath.Join(parent, "freezer")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"tasks", "freezer/tasks", "freezer/freezer.state"} {
		if err := os.WriteFile(filepath.Join(parent, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return brokenFreezer(dir)
}

func (f brokenFreezer) state() string { return filepath.Join(string(f), "freezer.state") }

// fail has it refuse whatever it is told.
func (f brokenFreezer) fail(t *testing.T) {
	t.Helper()
	err := os.Remove(f.state())
	if err == nil {
		err = os.Mkdir(f.state(), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (f brokenFreezer) mend(t *testing.T) {
	t.Helper()
	err := os.Remove(f.state())
	if err == nil {
		err = os.WriteFile(f.state(), nil, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// signalApp sends a signal to a shepherd's children, past the shepherd.
func signalApp(t *testing.T, c *shepherd.Client, sig syscall.Signal) {
	t.Helper()
	dog := status(t, c).Shepherd
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", dog))
	sent := 0
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			var pid int
			if _, err := fmt.Sscan(field, &pid); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
			sent++
		}
	}
	if sent != 1 {
		t.Fatalf("shepherd %d has %d children, %v", dog, sent, err)
	}
}
