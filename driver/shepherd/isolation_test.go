package shepherd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/driver/shepherd/cgroup"
	"doze/idle"
)

func TestClient_isolation_isNobodyWithoutNewPrivileges(t *testing.T) {
	asRoot(t)
	c := launch(t, spec(t, "http"))
	wantIn(t, mustGet(t, c, "/"), "uid 65534")
	for _, line := range []string{"NoNewPrivs:\t1", "CapEff:\t0000000000000000", "PPid:\t1\n"} {
		wantIn(t, mustGet(t, c, "/status"), line)
	}
	out := run(t, c, "ls", "/proc")
	if n := len(strings.Fields(digits(out))); n > 5 {
		t.Errorf("the task sees %d processes:\n%s", n, out)
	}
	for _, ns := range []string{"pid", "ipc", "mnt"} {
		ours, err := os.Readlink("/proc/self/ns/" + ns)
		if err != nil {
			t.Fatal(err)
		}
		if theirs := run(t, c, "readlink", "/proc/self/ns/"+ns); strings.TrimSpace(theirs) == ours {
			t.Errorf("the task shares our %s namespace", ns)
		}
	}
}

// digits keeps the lines that are numbers.
func digits(lines string) string {
	var kept []string
	for line := range strings.Lines(lines) {
		if line != "" && '0' <= line[0] && line[0] <= '9' {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestClient_user_isByNameOrNumber(t *testing.T) {
	asRoot(t)
	for user, want := range map[string]string{
		"daemon": "1 1", "12345": "12345 12345", "12345:54321": "12345 54321", "root": "0 0",
	} {
		s := spec(t, "never")
		s.Listen, s.User = "", user
		c := launch(t, s)
		if got := run(t, c, "sh", "-c", "echo $(id -u) $(id -g)"); strings.TrimSpace(got) != want {
			t.Errorf("user %q runs as %s", user, got)
		}
	}
}

// What an application is born with: no signal ignored, and only its own environment.
func TestClient_environment_isTheTasksOwn(t *testing.T) {
	t.Setenv("SECRET_OF_THE_AGENT", "1")
	s := spec(t, "http")
	s.Env = append(s.Env, "ADDR=127.0.0.1:${DOZE_PORT}")
	s.PortEnv = "PORT"
	c := launch(t, s)
	env := mustGet(t, c, "/env")
	port := itoa(status(t, c).Port)
	for _, want := range []string{"ADDR=127.0.0.1:" + port, "PORT=" + port, "DOZE_PORT=" + port} {
		wantIn(t, env, want)
	}
	for _, no := range []string{"SECRET", "GOGC", "NOMAD_PLUGIN"} {
		if strings.Contains(env, no) {
			t.Errorf("the task sees %s in\n%s", no, env)
		}
	}
	// Signals 32 and 33 are the C library's own: what its posix_spawn starts (GNU make does)
	// has the first ignored, and no program can tell.
	const ofTheLibrary = 1<<31 | 1<<32
	var ignored uint64
	out := run(t, c, "grep", "SigIgn", "/proc/self/status")
	if _, err := fmt.Sscanf(out, "SigIgn: %x", &ignored); err != nil || ignored&^ofTheLibrary != 0 {
		t.Errorf("the task was born with signals ignored: %q, error %v", out, err)
	}
}

func TestClient_orphans_areReaped(t *testing.T) {
	c := launch(t, spec(t, "orphan"))
	awaitState(t, c, idle.Ready)
	await(t, c, "reaped", func(shepherd.Status) bool {
		out := run(t, c, "sh", "-c", "cat /proc/[0-9]*/stat")
		return os.Geteuid() != 0 || !strings.Contains(out, ") Z 1 ")
	})
}

func TestClient_forkBomb_isBoundedAndStops(t *testing.T) {
	withController(t, "pids")
	s := spec(t, "bomb")
	s.Cgroup.Limits.Pids = 60
	c := launch(t, s)
	wantIn(t, mustGet(t, c, "/"), "pid ")
	stats, err := c.Stats(t.Context())
	if err != nil || stats.Pids < 10 || stats.Pids > 60 {
		t.Fatal(stats.Pids, err)
	}
	if err := c.Stop(t.Context(), time.Second, ""); err != nil {
		t.Fatal(err)
	}
	if stats, err = c.Stats(t.Context()); err != nil || stats.Pids != 0 {
		t.Fatalf("%d processes are left, %v", stats.Pids, err)
	}
}

func TestClient_outOfMemory_isToldAsSuch(t *testing.T) {
	withController(t, "memory")
	s := spec(t, "oom")
	s.Cgroup.Limits.MemoryBytes, s.Cgroup.Limits.SwapBytes = 64<<20, -1
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	if _, err := get(t, c, "/eat"); err == nil {
		t.Fatal("answered with its memory used up")
	}
	e, err := c.Wait(t.Context())
	if err != nil || !e.OOMKilled || e.Signal != int(syscall.SIGKILL) {
		t.Fatal(e, err)
	}
	wantIn(t, events(t, c, shepherd.EventOOM).Message, "out of memory")
}

func TestClient_stats_comeFromTheCgroup(t *testing.T) {
	withController(t, "memory")
	s := spec(t, "http")
	s.Cgroup.Limits.MemoryBytes, s.Cgroup.Limits.CPUShares = 512<<20, 500
	c := launch(t, s)
	mustGet(t, c, "/")
	stats, err := c.Stats(t.Context())
	if err != nil || stats.CPU.Total == 0 || stats.Pids == 0 {
		t.Fatalf("%+v %v", stats, err)
	}
	if stats.Memory.Usage == 0 || stats.Memory.Limit != 512<<20 {
		t.Fatalf("%+v", stats.Memory)
	}
}

func TestLaunch_shepherdsCgroup_isNotTheTasks(t *testing.T) {
	withFreezer(t)
	s := spec(t, "http")
	if s.Cgroup.Unified == "" {
		t.Skip("NEEDS CGROUP V2")
	}
	own := s.Cgroup.Unified + "-shepherd"
	s.Cgroup.Shepherd = []string{own}
	t.Cleanup(func() {
		if err := cgroup.Remove(cgroup.Spec{Unified: own}); err != nil {
			t.Error(err)
		}
	})
	c := launch(t, s)
	procs, err := os.ReadFile(own + "/cgroup.procs")
	if err != nil || strings.TrimSpace(string(procs)) != itoa(status(t, c).Shepherd) {
		t.Fatalf("%q %v", procs, err)
	}
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Freeze) // and answers on
	if s := status(t, c); s.Depth != idle.Freeze {
		t.Fatalf("%+v", s)
	}
}

// Everything goes with the shepherd, frozen or not: the kernel sees to it.
func TestClient_shepherdKilled_childrenAreGone(t *testing.T) {
	withFreezer(t)
	withController(t, "pids")
	for _, depth := range []idle.Depth{idle.Awake, idle.Freeze} {
		t.Run(depth.String(), func(t *testing.T) {
			s := spec(t, "bomb") // with children of its own
			s.Cgroup.Limits.Pids = 40
			c, err := shepherd.Launch(t.Context(), socketDir(t), s)
			if err != nil {
				t.Fatal(err)
			}
			st := awaitState(t, c, idle.Ready)
			if depth != idle.Awake {
				sleep(t, c, depth)
			}
			if err := syscall.Kill(st.Shepherd, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Wait(t.Context()); !errors.Is(err, shepherd.ErrGone) {
				t.Fatal(err)
			}
			awaitEmpty(t, s.Cgroup.Unified)
			if _, err := net.Dial("tcp", st.Listen); err == nil {
				t.Error("somebody still listens")
			}
		})
	}
}

func awaitEmpty(t *testing.T, dir string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for dir != "" {
		procs, err := os.ReadFile(dir + "/cgroup.procs")
		if err != nil {
			t.Fatal(err)
		}
		if len(procs) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %s", procs)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func TestLaunch_networkNamespace_isWhereAllOfItHappens(t *testing.T) {
	withFreezer(t)
	name := fmt.Sprintf("doze-test-%d", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		t.Skipf("NEEDS ip netns: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
		}
	})
	up := exec.Command("ip", "-n", name, "link", "set", "lo", "up")
	if out, err := up.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for app, activation := range map[string]shepherd.Activation{
		"http": shepherd.Relay, "socket": shepherd.Socket,
	} {
		s := spec(t, app)
		s.NetNS, s.Activation = "/run/netns/"+name, activation
		taken, err := net.Listen("tcp", "127.0.0.1:0") // in our network: free in the task's alone
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		s.Listen = taken.Addr().String()
		c := launch(t, s)
		st := awaitState(t, c, idle.Ready)
		for _, depth := range []idle.Depth{idle.Freeze, idle.Park} {
			// what the kernel knows of connections, with Socket
			await(t, c, "left alone", func(s shepherd.Status) bool { return s.InFlight == 0 })
			sleep(t, c, depth)
			ask := exec.Command("ip", "netns", "exec", name, "curl", "-s", st.Listen)
			out, err := ask.Output()
			if err != nil {
				t.Fatal(err)
			}
			wantIn(t, string(out), "pid ")
		}
		ours, err := os.Readlink("/proc/self/ns/net")
		if err != nil {
			t.Fatal(err)
		}
		if theirs := run(t, c, "readlink", "/proc/self/ns/net"); strings.TrimSpace(theirs) == ours {
			t.Error("a command runs in our network")
		}
	}
}

// No other user talks to a shepherd, and nothing that it is sent makes it fall.
func TestShepherd_controlSocket_isClosedToOthers(t *testing.T) {
	asRoot(t)
	s := spec(t, "http")
	dir := socketDir(t)
	c, err := shepherd.Launch(t.Context(), dir, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Destroy(context.Background()) })
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatal(info.Mode(), err)
	}
	// even where the directory were open, the caller's user is looked at
	for _, path := range []string{filepath.Dir(dir), dir, dir + "/s"} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	probe := exec.Command(binary, "app", "poke", dir+"/s")
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	probe.SysProcAttr = &syscall.SysProcAttr{Credential: nobody}
	if out, err := probe.CombinedOutput(); err != nil || string(out) != "hung up\n" {
		t.Fatalf("%s %v", out, err)
	}
	for _, junk := range []string{"", "x", "\xff\xff\xff\xffm", "\x00\x00\x00\x02m{}",
		"\x00\x00\x00\x0fm{\"call\":\"nope\"}", "\x00\x00\x00\x0fm{\"call\":\"stop\"}"} {
		conn, err := net.Dial("unix", dir+"/s")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(junk)); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil {
			t.Error(err)
		}
		_ = conn.Close()
	}
	wantIn(t, mustGet(t, c, "/"), "pid ")
}

// appPoke asks a shepherd that is another user's.
func appPoke(args []string) error {
	conn, err := net.Dial("unix", args[0])
	if err != nil {
		return err
	}
	_, writeErr := conn.Write([]byte("\x00\x00\x00\x11m{\"call\":\"status\"}"))
	answer, err := io.ReadAll(conn)
	if writeErr != nil || len(answer) == 0 {
		fmt.Println("hung up")
		return nil
	}
	return fmt.Errorf("%q %w", answer, err)
}

// run executes a command in the task and returns what it wrote.
func run(t *testing.T, c *shepherd.Client, argv ...string) string {
	t.Helper()
	var out, complaints bytes.Buffer
	e, err := c.Exec(t.Context(), shepherd.ExecSpec{Argv: argv}, nil, &out, &complaints)
	if err != nil {
		t.Fatal(err)
	}
	if e.Code != 0 && complaints.Len() > 0 {
		t.Logf("%v: %s", argv, complaints.String())
	}
	return out.String()
}
