package shepherd_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"doze/idle"
)

// within reports whether this process may have no more descriptors than so many. If it may, the
// test runs once more, in a process that may not: not everybody can undo such a limit.
func within(t *testing.T, files uint64) bool {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max <= files {
		return true
	}
	run := exec.Command("/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, files), "sh",
		binary, "-test.v", "-test.run=^"+t.Name()+"$")
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%s%v", out, err)
	}
	return false
}

// More clients than there are descriptors for wait in the kernel's queue. Nothing of that is the
// application's fault.
func TestRelay_moreClientsThanDescriptors_waitTheirTurn(t *testing.T) {
	const files, places, clients = 256, (256 - 64) / 4, 150
	if !within(t, files) {
		return
	}
	c := launch(t, spec(t, "http"))
	addr := awaitState(t, c, idle.Ready).Listen
	var answered atomic.Int32
	leave := make(chan struct{})
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			if err := askAndStay(addr, func() { answered.Add(1); <-leave }); err != nil {
				t.Error(err)
			}
		})
	}
	for deadline := time.Now().Add(patience); answered.Load() < places; {
		if time.Now().After(deadline) {
			t.Errorf("%d clients are answered", answered.Load())
			break
		}
		pauseFor(t, 10*time.Millisecond)
	}
	pauseFor(t, 300*time.Millisecond)
	if n := answered.Load(); n != places {
		t.Errorf("%d clients are served at once", n)
	}
	if s := status(t, c); s.State != idle.Ready || s.Err != "" || s.Wakes != 0 {
		t.Errorf("%+v", s)
	}
	close(leave)
	all.Wait()
	if n := answered.Load(); n != clients {
		t.Errorf("%d of %d clients were answered", n, clients)
	}
}

// askAndStay calls answered when there is an answer, with the connection still open.
func askAndStay(addr string, answered func()) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * patience)); err != nil {
		return err
	}
	if err := sendRequest(conn); err != nil {
		return err
	}
	if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
		return err
	}
	answered()
	return nil
}

// A shepherd that has no descriptor left for the application's side waits for one.
func TestRelay_noDescriptorForTheApplication_isNotItsFault(t *testing.T) {
	s := spec(t, "http")
	s.Probe.Interval = time.Hour // no descriptor is to be taken by others
	c := launch(t, s)
	st := awaitState(t, c, idle.Ready)
	var old unix.Rlimit
	if err := unix.Prlimit(st.Shepherd, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Cur: onlyOneMore(t, st.Shepherd), Max: old.Max}
	if err := unix.Prlimit(st.Shepherd, unix.RLIMIT_NOFILE, &none, nil); err != nil {
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	go func() { asked <- askAndStay(st.Listen, func() {}) }()
	select {
	case err := <-asked:
		t.Error("it got through: ", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := unix.Prlimit(st.Shepherd, unix.RLIMIT_NOFILE, &old, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-asked; err != nil {
		t.Error(err)
	}
	if s := status(t, c); s.State != idle.Ready || s.Err != "" || s.Wakes != 0 {
		t.Errorf("%+v", s)
	}
}

// onlyOneMore is the limit under which a process, once it is at rest, may open one descriptor.
func onlyOneMore(t *testing.T, pid int) uint64 {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	limit, since := uint64(0), time.Now()
	for time.Since(since) < 100*time.Millisecond {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		open := make(map[string]bool, len(files))
		for _, f := range files {
			open[f.Name()] = true
		}
		first := 0
		for open[strconv.Itoa(first)] {
			first++
		}
		second := first + 1
		for open[strconv.Itoa(second)] {
			second++
		}
		if uint64(second) != limit {
			limit, since = uint64(second), time.Now()
		}
		pauseFor(t, time.Millisecond)
	}
	return limit
}
