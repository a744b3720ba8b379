package shepherd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doze/driver/shepherd"
)

// logIndices are those of the files of standard output, ascending.
func logIndices(t testing.TB, s shepherd.Spec) []int {
	t.Helper()
	paths, err := filepath.Glob(logPath(s, "web.stdout.*"))
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, path := range paths {
		index, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(path), "."))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, index)
	}
	slices.Sort(found)
	return found
}

// allLogs is all that the files of the log say, the oldest first.
func allLogs(t *testing.T, s shepherd.Spec) string {
	t.Helper()
	var all strings.Builder
	for _, index := range logIndices(t, s) {
		all.WriteString(readLog(t, s, fmt.Sprint("web.stdout.", index)))
	}
	return all.String()
}

func TestClient_fullLog_isGoneOnWithInTheNextFile(t *testing.T) {
	s := script(t, "seq 1 100000")
	s.Logs.MaxSize = 64 << 10
	end(t, launch(t, s))
	indices := logIndices(t, s)
	last := len(numbers(1, 100000)) / (64 << 10) // at least so many were full before it
	if len(indices) != 3 || indices[2] < last {
		t.Fatalf("the files are %v", indices)
	}
	for _, index := range indices {
		text := readLog(t, s, fmt.Sprint("web.stdout.", index))
		if len(text) > 64<<10 || !strings.HasSuffix(text, "\n") {
			t.Errorf("file %d has %d bytes, which end in %q", index, len(text), text[len(text)-9:])
		}
	}
	all := allLogs(t, s)
	if !strings.HasSuffix(numbers(1, 100000), "\n"+all) || len(all) < 64<<10 {
		t.Errorf("what is left has gaps, or is too short: %d bytes", len(all))
	}
}

func TestClient_lineLongerThanALog_isDivided(t *testing.T) {
	s := script(t, "echo short; head -c 5000 /dev/zero | tr '\\0' x; echo; echo short")
	s.Logs.MaxSize, s.Logs.MaxFiles = 1000, 10
	end(t, launch(t, s))
	for _, index := range logIndices(t, s) {
		if text := readLog(t, s, fmt.Sprint("web.stdout.", index)); len(text) > 1000 {
			t.Errorf("file %d has %d bytes", index, len(text))
		}
	}
	if all := allLogs(t, s); all != "short\n"+strings.Repeat("x", 5000)+"\nshort\n" {
		t.Errorf("the log says %q", all)
	}
}

func TestClient_longLineInPieces_fillsTheFileItBeginsIn(t *testing.T) {
	s := script(t, "printf %0600d 0; sleep 0.2; printf %0600d 0; echo")
	s.Logs.MaxSize = 1000
	end(t, launch(t, s))
	first, second := readLog(t, s, "web.stdout.0"), readLog(t, s, "web.stdout.1")
	if len(first) != 1000 || len(second) != 201 {
		t.Errorf("the files have %d and %d bytes", len(first), len(second))
	}
}

// The task is started again in the same allocation: `nomad alloc restart`.
func TestLaunch_logsOfAnEarlierStart_areGoneOnWith(t *testing.T) {
	s := script(t, "echo again")
	for name, text := range map[string]string{
		"web.stdout.2": "old\n", "web.stdout.10": "before\n", "web.stdout.x": "", "web.stdout.011": "",
		"web.stdout.99999999999": "", "other.stdout.12": "",
	} {
		if err := os.WriteFile(logPath(s, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	end(t, launch(t, s))
	if log := readLog(t, s, "web.stdout.10"); log != "before\nagain\n" {
		t.Errorf("the log says %q", log)
	}
}

func TestClient_logThatIsRemoved_isBegunAnew(t *testing.T) {
	s := script(t, talker("echo begun"))
	c := launch(t, s)
	awaitLog(t, s, "web.stdout.0", "begun")
	if err := os.Remove(logPath(s, "web.stdout.0")); err != nil {
		t.Fatal(err)
	}
	talk(t, c, s)
	awaitLog(t, s, "web.stdout.0", "line\n")
}
