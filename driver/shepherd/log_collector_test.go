package shepherd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

// collected is a task whose output the shepherd writes to files.
func collected(t testing.TB, app string) shepherd.Spec {
	t.Helper()
	s := spec(t, app)
	s.Logs = shepherd.LogFiles{Dir: logDir(t), Name: "web", MaxFiles: 3, MaxSize: 1 << 20}
	return s
}

// awaitLog waits until a log's file says just that.
func awaitLog(t testing.TB, s shepherd.Spec, file, want string) {
	t.Helper()
	var text []byte
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if text, err = os.ReadFile(filepath.Join(s.Logs.Dir, file)); string(text) == want {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("%s says %q, not %q: %v", file, text, want, err)
}

// logNames are the files in the logs' directory, sorted.
func logNames(t testing.TB, s shepherd.Spec) string {
	t.Helper()
	entries, err := os.ReadDir(s.Logs.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

func TestClient_logFiles_goOnOverAPark(t *testing.T) {
	s := collected(t, "write")
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	awaitLog(t, s, "web.stdout.0", "started\n")
	sleep(t, c, idle.Park)
	if err := c.Wake(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitLog(t, s, "web.stdout.0", "started\nstarted\n")
	awaitLog(t, s, "web.stderr.0", "complaint\ncomplaint\n")
}
