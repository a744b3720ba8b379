package shepherd_test

import (
	"context"
	"errors"
	"fmt"
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

// script is a task without a port, of a shell script, whose output the shepherd writes to
// files.
func script(t testing.TB, text string) shepherd.Spec {
	t.Helper()
	s := collected(t, "")
	s.Command, s.Args, s.Listen = "/bin/sh", []string{"-c", text}, ""
	return s
}

// end waits for the task's end.
func end(t testing.TB, c *shepherd.Client) shepherd.Exit {
	t.Helper()
	e, err := c.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func logPath(s shepherd.Spec, file string) string { return filepath.Join(s.Logs.Dir, file) }

func readLog(t testing.TB, s shepherd.Spec, file string) string {
	t.Helper()
	text, err := os.ReadFile(logPath(s, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// awaitLog waits until a log's file has the words, and returns all of it.
func awaitLog(t testing.TB, s shepherd.Spec, file, words string) string {
	t.Helper()
	var text []byte
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		text, err = os.ReadFile(logPath(s, file))
		if strings.Contains(string(text), words) {
			return string(text)
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatalf("%s says %q, and not %q: %v", file, text, words, err)
	return ""
}

// logEvent waits for an event about a log that has the words; what comes before it is gone.
func logEvent(t testing.TB, c *shepherd.Client, words string) shepherd.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var found shepherd.Event
	enough := errors.New("enough")
	err := c.Events(ctx, func(e shepherd.Event) error {
		if e.Kind == shepherd.EventLog && strings.Contains(e.Message, words) {
			found = e
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("no event %q: %v", words, err)
	}
	return found
}

func TestClient_logFiles_goOnOverFreezesAndParks(t *testing.T) {
	withFreezer(t)
	s := collected(t, "write")
	c := launch(t, s)
	for _, depth := range []idle.Depth{idle.Freeze, idle.Park} {
		awaitState(t, c, idle.Ready)
		sleep(t, c, depth)
		if err := c.Wake(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	awaitLog(t, s, "web.stdout.0", "started\nstarted\n") // one a start
	awaitLog(t, s, "web.stderr.0", "complaint\ncomplaint\n")
	wantIn(t, run(t, c, "/bin/echo", "for who has asked"), "for who has asked")
	if log := readLog(t, s, "web.stdout.0"); log != "started\nstarted\n" {
		t.Errorf("the log says %q", log)
	}
}

func TestClient_lastWords_areInTheLogWhenTheEndIsTold(t *testing.T) {
	// sleep holds the pipe open for longer than the test lasts
	s := script(t, "sleep 600 & seq 1 100000; echo the end >&2; exit 4")
	c := launch(t, s)
	if e := end(t, c); e.Code != 4 {
		t.Error(e)
	}
	if out := readLog(t, s, "web.stdout.0"); out != numbers(1, 100000) {
		t.Errorf("of the output %d bytes are there, which end in %q", len(out), out[max(0, len(out)-20):])
	}
	if errs := readLog(t, s, "web.stderr.0"); errs != "the end\n" {
		t.Errorf("the log says %q", errs)
	}
}

// A log that is slow to be written, since every few lines begin another file.
func TestClient_lastWords_areWaitedFor(t *testing.T) {
	s := script(t, "seq 1 12000") // as much as a pipe may hold
	s.Logs.MaxSize, s.Logs.MaxFiles = 512, 2
	end(t, launch(t, s))
	indices := logIndices(t, s)
	last := readLog(t, s, fmt.Sprint("web.stdout.", indices[len(indices)-1]))
	if !strings.HasSuffix(last, "\n12000\n") {
		t.Errorf("the log ends in %q", last)
	}
}

// numbers is what seq writes.
func numbers(from, to int) string {
	var text strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintln(&text, i)
	}
	return text.String()
}

// Some applications open their standard output by its name.
func TestClient_standardOutput_canBeOpenedByName(t *testing.T) {
	s := script(t, "echo one > /dev/stdout; echo two > /proc/self/fd/2")
	end(t, launch(t, s))
	if out, errs := readLog(t, s, "web.stdout.0"), readLog(t, s, "web.stderr.0"); out != "one\n" ||
		errs != "two\n" {
		t.Errorf("the logs say %q and %q", out, errs)
	}
}

// An application that makes its output not block does so for whoever has it after it.
func TestClient_outputThatWasMadeNotToBlock_blocksInTheNextProcess(t *testing.T) {
	s := collected(t, "nonblock")
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Park)
	if err := c.Wake(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitLog(t, s, "web.stdout.0", "blocks true\nblocks true\n")
}

func TestLaunch_logsThatCannotBe_areRefused(t *testing.T) {
	for want, spoil := range map[string]func(*shepherd.Spec){
		"must be absolute":       func(s *shepherd.Spec) { s.Logs.Dir = "logs" },
		"that of a file":         func(s *shepherd.Spec) { s.Logs.Name = "../web" },
		"at least one file":      func(s *shepherd.Spec) { s.Logs.MaxFiles = 0 },
		"of at least one byte":   func(s *shepherd.Spec) { s.Logs.MaxSize = 0 },
		"goes to a pipe already": func(s *shepherd.Spec) { s.Stderr = "/x/logs/.web.stderr.fifo" },
	} {
		s := script(t, "true")
		spoil(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}
