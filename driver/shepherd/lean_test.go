package shepherd_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"doze/idle"
)

// A crowd leaves more behind than a collection can free: Go keeps what it has made for each
// goroutine. That is not collected again and again.
func TestShepherd_afterACrowd_restsAgain(t *testing.T) {
	c := launch(t, spec(t, "http"))
	st := awaitState(t, c, idle.Ready)
	var crowd []net.Conn
	for range 600 {
		conn := dial(t, c)
		if err := sendRequest(conn); err != nil {
			t.Fatal(err)
		}
		crowd = append(crowd, conn)
	}
	for _, conn := range crowd {
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	pauseFor(t, 3*time.Second) // meanwhile it may tidy up
	before := ranFor(t, st.Shepherd)
	pauseFor(t, time.Second)
	if took := ranFor(t, st.Shepherd) - before; took > 100*time.Millisecond {
		t.Errorf("the shepherd of a task that nobody uses ran for %s in a second", took)
	}
}

// ranFor is how long a process's threads have had a processor.
func ranFor(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		var ns int64
		if _, err := fmt.Sscan(string(text), &ns); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(ns)
	}
	return sum
}
