package shepherd_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/driver/shepherd/cgroup"
	"doze/healthgate"
	"doze/idle"
)

func TestClient_stop_exitsBySignalAndWaitersAllHear(t *testing.T) {
	c := launch(t, spec(t, "http"))
	wantIn(t, mustGet(t, c, "/"), "pid ")
	exits := make([]shepherd.Exit, 5)
	var waits sync.WaitGroup
	for i := range exits {
		waits.Go(func() {
			var err error
			if exits[i], err = c.Wait(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	for range 2 { // a second stop is no error
		if err := c.Stop(t.Context(), 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	waits.Wait()
	again, err := c.Wait(t.Context())
	for _, e := range append(exits, again) {
		if e.Signal != int(syscall.SIGTERM) || e.OOMKilled || e.Err != "" {
			t.Fatal(e, err)
		}
	}
	if s := status(t, c); s.Exit == nil || s.Pid != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestClient_exitOfItsOwn_carriesTheCode(t *testing.T) {
	c := launch(t, spec(t, "http"))
	if _, err := get(t, c, "/exit?code=7"); err == nil {
		t.Fatal("an application that exits answers nothing")
	}
	e, err := c.Wait(t.Context())
	if err != nil || e.Code != 7 || e.Signal != 0 {
		t.Fatal(e, err)
	}
	if _, err := net.Dial("tcp", status(t, c).Listen); err == nil {
		t.Fatal("the port of a task that has ended is open")
	}
	for what, err := range map[string]error{
		"signal": c.Signal(t.Context(), "SIGHUP"),
		"sleep":  c.Sleep(t.Context(), idle.Park),
		"wake":   c.Wake(t.Context()),
	} {
		if !errors.Is(err, shepherd.ErrExited) {
			t.Errorf("%s of a task that has ended: %v", what, err)
		}
	}
}

func TestClient_exitsAtOnce_isAnExitAndNoFailure(t *testing.T) {
	s := spec(t, "http")
	s.Command, s.Args = "sh", []string{"-c", "exit 5"}
	c := launch(t, s)
	if e, err := c.Wait(t.Context()); err != nil || e.Code != 5 {
		t.Fatal(e, err)
	}
}

func TestClient_waitThatIsGivenUp_returnsItsCause(t *testing.T) {
	c := launch(t, spec(t, "http"))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := c.Wait(ctx); !errors.Is(err, why) {
		t.Fatal(err)
	}
}

func TestClient_destroy_leavesNothing(t *testing.T) {
	s := spec(t, "http")
	dir := socketDir(t)
	c, err := shepherd.Launch(t.Context(), dir, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Destroy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, s.Cgroup.Unified, s.Cgroup.Legacy["memory"]} {
		if _, err := os.Stat(path); path != "" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := c.Wait(t.Context()); !errors.Is(err, shepherd.ErrGone) {
		t.Error(err)
	}
	if err := c.Stop(t.Context(), 0, ""); err != nil {
		t.Error(err)
	}
	if _, err := shepherd.Connect(t.Context(), dir); !errors.Is(err, shepherd.ErrGone) {
		t.Error(err)
	}
}

func TestConnect_afterARestart_findsTheTask(t *testing.T) {
	s := spec(t, "http")
	dir := socketDir(t)
	first, err := shepherd.Launch(t.Context(), dir, s)
	if err != nil {
		t.Fatal(err)
	}
	second, err := shepherd.Connect(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := status(t, first), status(t, second); a.Pid != b.Pid || a.Shepherd != b.Shepherd {
		t.Fatal(a, b)
	}
	if err := second.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLaunch_givenUp_leavesNothing(t *testing.T) {
	s := spec(t, "http")
	dir := socketDir(t)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := shepherd.Launch(ctx, dir, s); !errors.Is(err, why) {
		t.Fatal(err)
	}
	for _, path := range []string{dir, s.Cgroup.Unified} {
		if _, err := os.Stat(path); path != "" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A directory that is there already may be another shepherd's, or a trap.
func TestLaunch_directoryInUse_isRefused(t *testing.T) {
	dir := socketDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "precious"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := shepherd.Launch(t.Context(), dir, spec(t, "http")); err == nil {
		t.Fatal("launched into a directory that was there")
	}
	if _, err := os.Stat(filepath.Join(dir, "precious")); err != nil {
		t.Fatal(err)
	}
}

func TestLaunch_badTask_saysWhatIsWrongAndLeavesNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cases := map[string]struct {
		spoil func(*shepherd.Spec)
		want  string
	}{
		"missing binary": {func(s *shepherd.Spec) { s.Command = "local/gone" }, "there is no command"},
		"bare name":      {func(s *shepherd.Spec) { s.Command = "gone" }, `command "gone" is in none of`},
		"directory":      {func(s *shepherd.Spec) { s.Command = "/usr" }, `"/usr" is a directory`},
		"no command":     {func(s *shepherd.Spec) { s.Command = "" }, "command: required"},
		"not a program": {func(s *shepherd.Spec) {
			s.Command = filepath.Join(s.Dir, "text")
			if err := os.WriteFile(s.Command, []byte("hello"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "exec format error"},
		"named pipe": {func(s *shepherd.Spec) {
			s.Command = filepath.Join(s.Dir, "pipe")
			if err := syscall.Mkfifo(s.Command, 0o755); err != nil {
				t.Fatal(err)
			}
		}, `/pipe" is no regular file`},
		"port in use": {func(s *shepherd.Spec) { s.Listen = taken.Addr().String() },
			"the port is in use"},
		"unknown signal": {func(s *shepherd.Spec) { s.ParkSignal = "SIGNOPE" }, `"SIGNOPE"`},
		"bad probe":      {func(s *shepherd.Spec) { s.Probe.Kind = "telepathy" }, "kind"},
		"backwards": {func(s *shepherd.Spec) { s.FreezeAfter, s.ParkAfter = time.Hour, time.Minute },
			"longer than freeze_after"},
		"missing log": {func(s *shepherd.Spec) { s.Stdout = s.Dir + "/logs/gone.fifo" },
			"cannot open log"},
	}
	if os.Geteuid() == 0 {
		cases["unknown user"] = struct {
			spoil func(*shepherd.Spec)
			want  string
		}{func(s *shepherd.Spec) { s.User = "no-such-user" }, `user "no-such-user"`}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := spec(t, "http")
			tc.spoil(&s)
			dir := socketDir(t)
			_, err := shepherd.Launch(t.Context(), dir, s)
			if err == nil {
				t.Fatal("launched")
			}
			wantIn(t, err.Error(), tc.want)
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Error("the directory is left behind:", err)
			}
		})
	}
}

func TestClient_ignoresTERM_isKilledInTime(t *testing.T) {
	c := launch(t, spec(t, "stubborn"))
	awaitState(t, c, idle.Ready)
	if err := c.Stop(t.Context(), 100*time.Millisecond, "TERM"); err != nil {
		t.Fatal(err)
	}
	if e, err := c.Wait(t.Context()); err != nil || e.Signal != int(syscall.SIGKILL) || e.OOMKilled {
		t.Fatal(e, err)
	}
}

func TestClient_signal_reachesTheProcess(t *testing.T) {
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	if err := c.Signal(t.Context(), "SIGNOPE"); err == nil {
		t.Error("an unknown signal was sent")
	}
	if err := c.Signal(t.Context(), "usr1"); err != nil {
		t.Fatal(err)
	}
	if e, err := c.Wait(t.Context()); err != nil || e.Code != 9 {
		t.Fatal(e, err)
	}
}

// field case 28: frozen before it was ready
func TestClient_neverReady_isNotFrozen(t *testing.T) {
	withFreezer(t)
	s := spec(t, "never")
	s.FreezeAfter = 50 * time.Millisecond
	s.WakeTimeout = 100 * time.Millisecond
	c := launch(t, s)
	if err := c.Sleep(t.Context(), idle.Freeze); err == nil {
		t.Error("frozen before it was ready, by command")
	}
	awaitState(t, c, idle.Failed)
	pauseFor(t, 200*time.Millisecond) // four times its idle time
	if s := status(t, c); s.Depth != idle.Awake {
		t.Fatalf("%+v", s)
	}
	wantIn(t, events(t, c, shepherd.EventFailed).Message, "wake timed out")
	if _, err := get(t, c, "/"); err == nil { // refused, not left waiting
		t.Error("a task that never listens answered")
	}
	if err := c.Stop(t.Context(), time.Second, ""); err != nil {
		t.Fatal(err)
	}
}

func TestClient_listensLate_holdsConnectionsUntilThen(t *testing.T) {
	c := launch(t, spec(t, "late"))
	if s := status(t, c); s.State != idle.Waking {
		t.Fatalf("%+v", s)
	}
	wantIn(t, mustGet(t, c, "/"), "pid ")
}

func TestClient_closesItsPort_failsWithAReason(t *testing.T) {
	s := spec(t, "http")
	s.WakeTimeout = 200 * time.Millisecond
	c := launch(t, s)
	mustGet(t, c, "/close")
	if _, err := get(t, c, "/"); err == nil {
		t.Fatal("answered without a port")
	}
	if s := awaitState(t, c, idle.Failed); !strings.Contains(s.Err, "refused") {
		t.Fatalf("%+v", s)
	}
	wantIn(t, events(t, c, shepherd.EventFailed).Message, "refused")
	if s := status(t, c); s.Exit != nil || s.Pid == 0 {
		t.Fatalf("its process is another matter: %+v", s)
	}
}

func TestClient_probe_decidesWhenConnectionsPass(t *testing.T) {
	for _, probe := range []healthgate.ProbeConfig{
		{Kind: "http", Path: "/healthz", Body: "fine"},
		{Kind: "exec", Command: []string{"test", "-d", "/proc"}},
	} {
		t.Run(probe.Kind, func(t *testing.T) {
			s := spec(t, "late")
			s.Probe = probe
			wantIn(t, mustGet(t, launch(t, s), "/"), "pid ")
		})
	}
	s := spec(t, "http")
	s.WakeTimeout = time.Second
	s.Probe = healthgate.ProbeConfig{Kind: "exec", Command: []string{"false"}}
	c := launch(t, s)
	if s := awaitState(t, c, idle.Failed); !strings.Contains(s.Err, "exit status 1") {
		t.Fatalf("%+v", s)
	}
}

func TestClient_missingParts_areTold(t *testing.T) {
	s := spec(t, "http")
	s.Cgroup.Unified = "/proc/nowhere"
	s.Cgroup.Legacy = nil
	s.Cgroup.Limits.MemoryBytes = 1 << 30
	c := launch(t, s)
	missing := strings.Join(status(t, c).Missing, "\n")
	for _, part := range []string{"cgroup v2", "memory limit", "freezer"} {
		wantIn(t, missing, part)
	}
	if os.Geteuid() != 0 {
		wantIn(t, missing, "namespaces")
	}
	awaitState(t, c, idle.Ready)
	if err := c.Sleep(t.Context(), idle.Freeze); !errors.Is(err, cgroup.ErrNoFreezer) {
		t.Error(err)
	}
	sleep(t, c, idle.Park) // needs none
	wantIn(t, mustGet(t, c, "/"), "pid ")
}

func TestClient_withoutAPort_sleepsByCommandOnly(t *testing.T) {
	withFreezer(t)
	s := spec(t, "never")
	s.Listen, s.FreezeAfter = "", 20*time.Millisecond
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	pauseFor(t, 100*time.Millisecond)
	if s := status(t, c); s.Depth != idle.Awake {
		t.Fatalf("%+v", s)
	}
	sleep(t, c, idle.Freeze)
	if err := c.Wake(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := status(t, c); s.State != idle.Ready || s.Depth != idle.Awake {
		t.Fatalf("%+v", s)
	}
}
