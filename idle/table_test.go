package idle_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"doze/idle"
	"doze/idle/internal/statedoc"
)

// TestMachine_everyEventInEveryState_doesWhatTheTableStates compares the machine with
// testdata/table.txt, which is stated by hand: "scene | event | outcome", one cell a line.
// A cell that is missing there fails, and so does one that nothing plays any more.
func TestMachine_everyEventInEveryState_doesWhatTheTableStates(t *testing.T) {
	stated := readTable(t)
	played := make(map[idle.State]bool)
	for _, c := range statedoc.Cells() {
		key := c.Scene + " | " + c.Event
		want, ok := stated[key]
		switch {
		case !ok:
			t.Errorf("table.txt has no cell %q; the machine does: %s", key, c)
		case want != c.String():
			t.Errorf("%s:\n got %s\nwant %s", key, c, want)
		}
		delete(stated, key)
		played[c.State] = true
	}
	for key := range stated {
		t.Errorf("nothing plays the cell %q", key)
	}
	if len(played) != len(idle.States()) {
		t.Errorf("only the states %v are in the table", played)
	}
}

// TestMachine_everyEventKind_isInTheTable keeps the table whole when a kind is added.
func TestMachine_everyEventKind_isInTheTable(t *testing.T) {
	table := fmt.Sprint(readTable(t))
	for _, k := range idle.EventKinds() {
		if !strings.Contains(table, "| "+k.String()) {
			t.Errorf("event %q is not in table.txt", k)
		}
	}
}

func readTable(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/table.txt")
	if err != nil {
		t.Fatal(err)
	}
	cells := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndex(line, " | ")
		cells[line[:i]] = line[i+3:]
	}
	return cells
}
