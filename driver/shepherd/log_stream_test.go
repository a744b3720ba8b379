package shepherd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"doze/driver/shepherd"
)

// talker is an application that says something at first, and then a line for every SIGUSR1,
// of which it tells on its standard error.
func talker(first string) string {
	return "trap 'echo line; echo wrote >&2' USR1; " + first + "; while :; do sleep 0.01; done"
}

// talk has a talker write a line.
func talk(t testing.TB, c *shepherd.Client, s shepherd.Spec) {
	t.Helper()
	before := strings.Count(readLog(t, s, "web.stderr.0"), "wrote")
	if err := c.Signal(t.Context(), "SIGUSR1"); err != nil {
		t.Fatal(err)
	}
	awaitLog(t, s, "web.stderr.0", strings.Repeat("wrote\n", before+1))
}

func TestClient_logsDirectoryThatVanishes_holdsNobodyUp(t *testing.T) {
	s := script(t, strings.ReplaceAll(talker("echo begun"), ">&2", `> "$OUT"`))
	said := filepath.Join(t.TempDir(), "said")
	s.Env, s.User = append(s.Env, "OUT="+said), itoa(os.Getuid())
	c := launch(t, s)
	awaitLog(t, s, "web.stdout.0", "begun")
	if err := os.RemoveAll(s.Logs.Dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		tellTalker(t, c, said)
	}
	logEvent(t, c, "cannot write the log stdout: ")
	if err := os.Mkdir(s.Logs.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	recovered := awaitRecovery(t, s, func() { tellTalker(t, c, said) })
	if !strings.HasPrefix(recovered, "[doze: ") || !strings.HasSuffix(recovered, "line\n") {
		t.Errorf("the log says %q", recovered)
	}
	logEvent(t, c, "the log stdout can be written again")
}

// tellTalker has a talker write a line, and say so in a file.
func tellTalker(t testing.TB, c *shepherd.Client, said string) {
	t.Helper()
	if err := os.Remove(said); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := c.Signal(t.Context(), "SIGUSR1"); err != nil {
		t.Fatal(err)
	}
	awaitSaid(t, said)
}

// awaitSaid waits for the file by which an application tells that it has got there.
func awaitSaid(t testing.TB, said string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if _, err := os.Stat(said); err == nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatal("the application is held up")
}

// awaitRecovery has something written until it is in a log again, which is tried once a
// second.
func awaitRecovery(t testing.TB, s shepherd.Spec, write func()) string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		write()
		text, err := os.ReadFile(logPath(s, "web.stdout.0"))
		if err == nil && strings.Contains(string(text), "bytes of this log are lost") {
			return awaitLog(t, s, "web.stdout.0", "\nline")
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the log is not written again")
	return ""
}

// smallDisk makes the logs' directory a file system of 64 KiB, of which free gives back the
// half.
func smallDisk(t *testing.T, s shepherd.Spec) (free func()) {
	t.Helper()
	asRoot(t)
	err := unix.Mount("small", s.Logs.Dir, "tmpfs", 0, "size=64k,mode=0777")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(s.Logs.Dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := logPath(s, "filler")
	if err := os.WriteFile(filler, make([]byte, 32<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClient_fullDisk_losesOutputAndSaysHowMuch(t *testing.T) {
	s, said := flood(t)
	free := smallDisk(t, s)
	c := launch(t, s)
	logEvent(t, c, "cannot write the log stdout: no space left on device")
	awaitSaid(t, said)
	awaitQuiet(t, s)
	free()
	text := awaitRecovery(t, s, func() { talk(t, c, s) })
	kept, confession, _ := strings.Cut(text, "\n[doze: ") // on a line of its own
	lost := lostBytes(t, confession)
	if all := len(numbers(5, 100000)); lost < all-len(kept) || lost > all-len(kept)+1000 {
		t.Errorf("of %d bytes %d are there, and %d said to be lost", all, len(kept), lost)
	}
	e := logEvent(t, c, "the log stdout can be written again")
	if e.Details["bytes_lost"] != itoa(lost) {
		t.Errorf("the event says %v, the log %d", e.Details, lost)
	}
}

// lostBytes reads what a log says of itself.
func lostBytes(t testing.TB, confession string) (lost int) {
	t.Helper()
	const form = "%d bytes of this log are lost: no space left on device]"
	if _, err := fmt.Sscanf(confession, form, &lost); err != nil {
		t.Fatalf("%q: %v", confession, err)
	}
	return lost
}

// Nothing is written any more by the time there is room again.
func TestClient_fullDisk_isToldAtTheEndOfTheLog(t *testing.T) {
	s, said := flood(t)
	free := smallDisk(t, s)
	c := launch(t, s)
	awaitSaid(t, said)
	awaitQuiet(t, s)
	free()
	if err := c.Stop(t.Context(), 0, ""); err != nil {
		t.Fatal(err)
	}
	kept, confession, _ := strings.Cut(readLog(t, s, "web.stdout.0"), "\n[doze: ")
	lost, all := lostBytes(t, confession), len(numbers(5, 100000))
	if lost != all-len(kept) || !strings.HasSuffix(confession, "]\n") {
		t.Errorf("of %d bytes %d are there, and then %q", all, len(kept), confession)
	}
}

// flood is a talker that says more at first than smallDisk has room for, and then makes the
// file said.
func flood(t testing.TB) (s shepherd.Spec, said string) {
	t.Helper()
	s = script(t, talker(`seq 5 100000; : > "$OUT"`))
	said = filepath.Join(t.TempDir(), "said")
	s.Env, s.User = append(s.Env, "OUT="+said), itoa(os.Getuid())
	return s, said
}

// awaitQuiet waits until the shepherd has taken what the application has said.
func awaitQuiet(t testing.TB, s shepherd.Spec) {
	t.Helper()
	awaitSize := func() int64 {
		info, err := os.Stat(logPath(s, "web.stdout.0"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for before := int64(-1); before != awaitSize(); time.Sleep(200 * time.Millisecond) {
		before = awaitSize()
	}
}

// A limit on the size of files is told by a signal, too, which must not end the shepherd.
func TestClient_limitOfFileSizes_isOneMoreFullDisk(t *testing.T) {
	s := script(t, "sleep 0.3; seq 1 1000; exit 3")
	c := launch(t, s)
	limit := unix.Rlimit{Cur: 100, Max: 1 << 30}
	err := unix.Prlimit(status(t, c).Shepherd, unix.RLIMIT_FSIZE, &limit, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := end(t, c); e.Code != 3 {
		t.Error(e)
	}
	logEvent(t, c, "cannot write the log stdout: ")
}
