package shepherd_test

import (
	"os"
	"strings"
	"testing"

	"doze/driver/shepherd"
)

func TestClient_resolver_isTheTasksAlone(t *testing.T) {
	asRoot(t)
	before, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		t.Skip("NEEDS /etc/resolv.conf: ", err)
	}
	s := spec(t, "never")
	s.Listen, s.User, s.Resolver = "", "root", "nameserver 192.0.2.53\nsearch a.example\n"
	c := launch(t, s)
	if got := run(t, c, "cat", "/etc/resolv.conf"); got != s.Resolver {
		t.Errorf("the task sees %q", got)
	}
	if got := run(t, c, "sh", "-c", "echo x > /etc/resolv.conf || echo refused"); got != "refused\n" {
		t.Errorf("a task of root's wrote to it: %q", got)
	}
	if got := run(t, c, "ls", "-A", "/dev/shm"); got != "" {
		t.Errorf("there is %q in its /dev/shm", got)
	}
	if after, err := os.ReadFile("/etc/resolv.conf"); err != nil || string(after) != string(before) {
		t.Errorf("the machine's became %q, %v", after, err)
	}
}

func TestLaunch_resolverThatCannotBeHad_isRefused(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NEEDS TO BE NO ROOT: root has a mount namespace for it")
	}
	s := spec(t, "never")
	s.Resolver = "nameserver 192.0.2.53\n"
	_, err := shepherd.Launch(t.Context(), socketDir(t), s)
	if err == nil || !strings.Contains(err.Error(), "the name servers of its dns block") {
		t.Errorf("got error %v", err)
	}
}
