package shepherd_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/healthgate"
	"doze/idle"
)

// Design, section 8: a connection that wakes waits for this wake's probe, also where the
// application could be reached before.
func TestClient_wokenAndNotReady_isSentNothingBeforeItsProbePasses(t *testing.T) {
	withFreezer(t)
	for name, probe := range map[string]healthgate.ProbeConfig{
		"exec": {Kind: "exec", Command: []string{"sh", "-c", "echo /ready >>seen; test ! -e shut"}},
		"http": {Kind: "http", Path: "/ready"},
	} {
		for _, depth := range []idle.Depth{idle.Freeze, idle.Park} {
			t.Run(name+"/"+depth.String(), func(t *testing.T) {
				probe.Interval = 20 * time.Millisecond
				s := spec(t, "noting")
				s.Probe, s.WakeTimeout = probe, time.Minute
				d := newDoorway(t, s.Dir)
				c := launch(t, s)
				awaitState(t, c, idle.Ready)
				sleep(t, c, depth)
				wakeIntoShutDoor(t, c, d)
			})
		}
	}
}

func wakeIntoShutDoor(t *testing.T, c *shepherd.Client, d doorway) {
	t.Helper()
	d.shut(t)
	addr, answer := status(t, c).Listen, make(chan error, 1)
	go func() {
		_, err := getFrom(addr, "/asked")
		answer <- err
	}()
	await(t, c, "probed", func(shepherd.Status) bool { return d.seen(t, "/ready") >= 3 })
	if s := status(t, c); s.State != idle.Waking || d.seen(t, "/asked") > 0 {
		t.Errorf("before its probe has passed the application is asked: %+v", s)
	}
	d.open(t)
	if err := <-answer; err != nil || d.seen(t, "/asked") != 1 {
		t.Errorf("asked %d times, error %v", d.seen(t, "/asked"), err)
	}
}

// doorway is what appNoting shares with its test: the file "seen", and while it is not ready
// the file "shut".
type doorway struct{ dir string }

func newDoorway(t *testing.T, dir string) doorway {
	t.Helper()
	d := doorway{dir}
	d.write(t, "seen")
	return d
}

// write makes an empty file that every user may write to.
func (d doorway) write(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	err := os.WriteFile(path, nil, 0o666)
	if err == nil {
		err = os.Chmod(path, 0o666) // whatever the umask
	}
	if err != nil {
		t.Fatal(err)
	}
}

// shut has the application not be ready, and forgets what it has seen.
func (d doorway) shut(t *testing.T) {
	t.Helper()
	d.write(t, "shut")
	d.write(t, "seen")
}

func (d doorway) open(t *testing.T) {
	t.Helper()
	if err := os.Remove(filepath.Join(d.dir, "shut")); err != nil {
		t.Fatal(err)
	}
}

// seen is how often a path has been asked for.
func (d doorway) seen(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), path+"\n")
}

// appNoting notes the path of each request in the file "seen" of its directory, and answers
// 503 while there is a file "shut".
func appNoting([]string) error {
	seen, err := os.OpenFile("seen", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	l, err := appListen()
	if err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(seen, r.URL.Path)
		if _, err := os.Stat("shut"); err == nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
}
