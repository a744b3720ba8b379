package shepherd_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"doze/driver/shepherd"
)

// CVE-2026-8052, for files: whatever a task puts in the place of its log, nothing but a file
// of the log's own is written to.
func TestLaunch_trapInPlaceOfALog_isNotWrittenTo(t *testing.T) {
	for name, trap := range map[string]func(s shepherd.Spec, victim string) error{
		"link": func(s shepherd.Spec, victim string) error {
			return os.Symlink(victim, logPath(s, "web.stdout.0"))
		},
		"link to nothing": func(s shepherd.Spec, victim string) error {
			return os.Symlink(victim+".new", logPath(s, "web.stdout.0"))
		},
		"second name of a file": func(s shepherd.Spec, victim string) error {
			return os.Link(victim, logPath(s, "web.stdout.0"))
		},
		"pipe": func(s shepherd.Spec, _ string) error {
			return syscall.Mkfifo(logPath(s, "web.stdout.0"), 0o666)
		},
		"directory": func(s shepherd.Spec, _ string) error {
			return os.Mkdir(logPath(s, "web.stdout.0"), 0o777)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := script(t, "echo word")
			victim := filepath.Join(filepath.Dir(s.Logs.Dir), "victim")
			if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := trap(s, victim); err != nil {
				t.Fatal(err)
			}
			end(t, launch(t, s))
			if log := readLog(t, s, "web.stdout.1"); log != "word\n" {
				t.Errorf("the log says %q", log)
			}
			text, err := os.ReadFile(victim)
			if _, gone := os.Stat(victim + ".new"); err != nil || string(text) != "precious" || gone == nil {
				t.Errorf("%q %v %v", text, err, gone)
			}
		})
	}
}

func TestLaunch_directoryThatIsALinkOut_isNotWrittenTo(t *testing.T) {
	s := script(t, "echo word; exit 6")
	elsewhere := t.TempDir()
	if err := os.Remove(s.Logs.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, s.Logs.Dir); err != nil {
		t.Fatal(err)
	}
	c := launch(t, s)
	if e := end(t, c); e.Code != 6 {
		t.Error(e)
	}
	logEvent(t, c, "cannot write the log stdout: ")
	if found, err := os.ReadDir(elsewhere); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}
