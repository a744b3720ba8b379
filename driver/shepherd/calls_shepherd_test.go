package shepherd_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"doze/driver/shepherd/cgroup"
	"doze/idle"
)

// The requests of the golden, byte for byte, are understood by a shepherd, and what it answers
// has the golden's fields.
func TestCalls_requestsOfTheGolden_areAnsweredByAShepherd(t *testing.T) {
	dir := socketDir(t)
	c := launchIn(t, dir, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	golden := parseGolden(t)
	for _, name := range []string{"status", "stats", "signal", "exec", "exec, terminal",
		"sleep freeze", "wake", "sleep park", "wake", "events", "stop", "wait", "wake, exited",
		"destroy"} {
		if name == "sleep freeze" && !canFreeze() {
			t.Log("there is no freezer: a request to freeze is not made")
			continue
		}
		script := golden[name]
		if name == "events" {
			script = script[:3] // one, and the reader's word for it
		}
		askAsIn(t, dir, name, script)
	}
}

// canFreeze reports whether the machine lets tests freeze a task.
func canFreeze() bool {
	h, err := cgroup.Detect()
	return err == nil && os.Geteuid() == 0 && h.Freezer() != ""
}

// askAsIn sends what a script has from the client, and holds the last that comes against it.
func askAsIn(t *testing.T, dir, name string, script []string) {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, line := range script {
		content, is := strings.CutPrefix(line, "> ")
		if !is {
			want = strings.TrimPrefix(line, "< ")
			continue
		}
		if want != "" { // what is said to an answer is said when it is there
			sameFields(t, name, want, nextMessage(t, conn, name))
		}
		if err := parseWire(t, content).writeTo(conn); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if !strings.HasPrefix(script[len(script)-1], "> ") {
		sameFields(t, name, want, nextMessage(t, conn, name))
	}
}

// nextMessage is the next message, behind the bytes of streams.
func nextMessage(t *testing.T, conn net.Conn, name string) string {
	t.Helper()
	for {
		f, err := readWire(conn)
		if err != nil {
			t.Fatalf("%s: cannot read an answer: %v", name, err)
		}
		if f.kind == 'm' {
			return f.String()
		}
	}
}

// sameFields holds the fields of a message against those of the golden's. A value that is left
// out, as the exit of a task that runs, has none.
func sameFields(t *testing.T, name, golden, got string) {
	t.Helper()
	var want, now any
	for text, v := range map[string]*any{golden: &want, got: &now} {
		if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "m ")), v); err != nil {
			t.Fatalf("%s: cannot read %q: %v", name, text, err)
		}
	}
	if wrong := differing(want, now); len(wrong) > 0 {
		t.Errorf("%s: a shepherd has answered\n%s\nwhere the golden has\n%s\n%s", name, got, golden,
			strings.Join(wrong, "\n"))
	}
}

func differing(want, got any) (wrong []string) {
	had, is := want.(map[string]any)
	has, too := got.(map[string]any)
	if want == nil || got == nil {
		return nil
	}
	if !is || !too {
		if a, b := fmt.Sprintf("%T", want), fmt.Sprintf("%T", got); a != b {
			wrong = append(wrong, fmt.Sprintf("%v is a %s, and not a %s", got, b, a))
		}
		return wrong
	}
	for key, value := range had {
		now, there := has[key]
		switch {
		case !there:
			wrong = append(wrong, key+" is missing")
		case key != "details": // has words of its own for each kind of event
			wrong = append(wrong, differing(value, now)...)
		}
	}
	for key := range has {
		if _, there := had[key]; !there {
			wrong = append(wrong, key+" is not the golden's")
		}
	}
	return wrong
}

// Whoever looks for a task's shepherd finds it by its socket, and a stray one by its arguments:
// those of an older version too.
func TestShepherd_traces_areWhereEveryVersionLooksForThem(t *testing.T) {
	dir := socketDir(t)
	c := launchIn(t, dir, spec(t, "http"))
	var found []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		found = append(found, e.Type().String()+" "+e.Name())
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("its directory: %v, %v", info.Mode(), err)
	}
	if want := []string{"---------- log", "S--------- s"}; !slices.Equal(found, want) {
		t.Errorf("its directory has %q, not %q", found, want)
	}
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", status(t, c).Shepherd))
	if want := "doze\x00shepherd\x00" + dir + "\x00"; err != nil || string(args) != want {
		t.Errorf("its arguments are %q, not %q; %v", args, want, err)
	}
}
