package shepherd_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

func TestClient_frozen_wakesOnTheFirstConnection(t *testing.T) {
	withFreezer(t)
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	before := mustGet(t, c, "/")
	sleep(t, c, idle.Freeze)
	if s := status(t, c); s.Depth != idle.Freeze || s.Pid == 0 {
		t.Fatalf("%+v", s)
	}
	if after := mustGet(t, c, "/"); after != before {
		t.Fatalf("another process answers: %q, then %q", before, after)
	}
	if s := status(t, c); s.Wakes != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestClient_parked_startsAnew(t *testing.T) {
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	for range 3 {
		sleep(t, c, idle.Park)
		if s := status(t, c); s.Depth != idle.Park || s.Pid != 0 || s.Exit != nil {
			t.Fatalf("%+v", s)
		}
		wantIn(t, mustGet(t, c, "/"), "pid ")
	}
	if err := c.Signal(t.Context(), "HUP"); err != nil {
		t.Fatal(err)
	}
	if e, err := c.Wait(t.Context()); err != nil || e.Signal != int(syscall.SIGHUP) {
		t.Fatal(e, err)
	}
}

// Nomad kills a task that a signal of a changed template does not reach.
func TestClient_signalWhileParked_isNoErrorAndTold(t *testing.T) {
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Park)
	if err := c.Signal(t.Context(), "HUP"); err != nil {
		t.Error(err)
	}
	wantIn(t, events(t, c, shepherd.EventUnheard).Message, "SIGHUP reached nobody: the task is parked")
	if s := status(t, c); s.Depth != idle.Park || s.Exit != nil {
		t.Errorf("%+v", s)
	}
}

func TestClient_parked_stopsWithoutAProcess(t *testing.T) {
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Park)
	if err := c.Stop(t.Context(), 0, ""); err != nil {
		t.Fatal(err)
	}
	if e, err := c.Wait(t.Context()); err != nil || e.Code != 0 || e.Signal != 0 {
		t.Fatal(e, err)
	}
}

func TestClient_onDemand_isBornParked(t *testing.T) {
	s := spec(t, "http")
	s.OnDemand = true
	c := launch(t, s)
	if s := status(t, c); s.State != idle.Asleep || s.Depth != idle.Park || s.Pid != 0 {
		t.Fatalf("%+v", s)
	}
	wantIn(t, mustGet(t, c, "/"), "pid ")
}

func TestClient_idle_goesDownStepByStep(t *testing.T) {
	withFreezer(t)
	s := spec(t, "http")
	s.FreezeAfter, s.ParkAfter = 60*time.Millisecond, 150*time.Millisecond
	c := launch(t, s)
	wantIn(t, mustGet(t, c, "/"), "pid ")
	await(t, c, "parked", func(s shepherd.Status) bool { return s.Depth == idle.Park })
	wantIn(t, mustGet(t, c, "/"), "pid ")
	wantIn(t, events(t, c, shepherd.EventFrozen).Message, "idle for 60ms")
	wantIn(t, events(t, c, shepherd.EventParked).Message, "idle for 150ms")
}

func TestClient_openConnection_keepsAwake(t *testing.T) {
	withFreezer(t)
	s := spec(t, "echo")
	s.FreezeAfter = 40 * time.Millisecond
	c := launch(t, s)
	conn := dial(t, c)
	echo(t, conn, "hello")
	pauseFor(t, 200*time.Millisecond)
	if s := status(t, c); s.Depth != idle.Awake || s.InFlight != 1 {
		t.Fatalf("%+v", s)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, c, "frozen", func(s shepherd.Status) bool { return s.Depth == idle.Freeze })
}

// Put to sleep by command under an open connection, the next byte wakes it.
func TestClient_frozenUnderAConnection_wakesOnData(t *testing.T) {
	withFreezer(t)
	c := launch(t, spec(t, "echo"))
	conn := dial(t, c)
	echo(t, conn, "before")
	for _, text := range []string{"after", "and again"} {
		awaitState(t, c, idle.Ready) // bytes pass on an open connection before that
		sleep(t, c, idle.Freeze)
		if s := status(t, c); s.Depth != idle.Freeze {
			t.Fatalf("%+v", s)
		}
		echo(t, conn, text)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(conn)
	if err != nil || string(rest) != "[20]" {
		t.Fatalf("%q %v", rest, err)
	}
}

// A freeze by command may meet a client in the midst of an upload, which waits for room.
func TestClient_frozenInAnUpload_goesOnWithIt(t *testing.T) {
	withFreezer(t)
	c := launch(t, spec(t, "echo"))
	awaitState(t, c, idle.Ready)
	conn := dial(t, c)
	slept, sent := make(chan struct{}), make(chan int, 1)
	go func() {
		n, over := 0, false
		for block := make([]byte, 256<<10); !over; {
			m, err := conn.Write(block)
			n += m
			if err != nil {
				t.Error(err)
			}
			select {
			case <-slept:
				over = true
			default:
				over = err != nil
			}
		}
		if err := conn.CloseWrite(); err != nil {
			t.Error(err)
		}
		sent <- n
	}()
	got := make(chan int64, 1)
	go func() {
		n, err := io.Copy(io.Discard, conn)
		if err != nil {
			t.Error(err)
		}
		got <- n
	}()
	for range 5 {
		if err := c.Sleep(t.Context(), idle.Freeze); err != nil && !errors.Is(err, shepherd.ErrInUse) {
			t.Error(err) // it may be woken before the command is answered
		}
		awaitState(t, c, idle.Ready)
	}
	close(slept)
	if n, m := <-sent, <-got; m != int64(n+len(fmt.Sprintf("[%d]", n))) {
		t.Fatalf("%d bytes of %d came back", m, n)
	}
}

// Parked under a connection, its end, or more data, is no reason to start anew; nor where it
// was frozen first.
func TestClient_parkedUnderAConnection_staysParked(t *testing.T) {
	for name, depths := range map[string][]idle.Depth{
		"at once": {idle.Park}, "frozen first": {idle.Freeze, idle.Park},
	} {
		t.Run(name, func(t *testing.T) {
			if depths[0] == idle.Freeze {
				withFreezer(t)
			}
			c := launch(t, spec(t, "echo"))
			conn := dial(t, c)
			echo(t, conn, "before")
			before := awaitState(t, c, idle.Ready).Wakes
			for _, depth := range depths {
				sleep(t, c, depth)
			}
			if _, err := conn.Write([]byte("after")); err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(conn) // the end, or a reset
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			await(t, c, "rid of it", func(s shepherd.Status) bool { return s.InFlight == 0 })
			if s := status(t, c); s.Depth != idle.Park || s.Wakes != before {
				t.Fatalf("%+v", s)
			}
		})
	}
}

func TestClient_dataBeforeTheThaw_arrivesWhole(t *testing.T) {
	withFreezer(t)
	for _, depth := range []idle.Depth{idle.Freeze, idle.Park} {
		t.Run(depth.String(), func(t *testing.T) {
			c := launch(t, spec(t, "echo"))
			awaitState(t, c, idle.Ready)
			sleep(t, c, depth)
			sent := bytes.Repeat([]byte("0123456789abcdef"), 64<<10) // 1 MiB
			conn := dial(t, c)
			var writing sync.WaitGroup
			writing.Go(func() {
				if _, err := conn.Write(sent); err != nil {
					t.Error(err)
				}
				if err := conn.CloseWrite(); err != nil {
					t.Error(err)
				}
			})
			got, err := io.ReadAll(conn)
			writing.Wait()
			want := string(sent) + "[" + strconv.Itoa(len(sent)) + "]"
			if err != nil || string(got) != want {
				t.Fatalf("%d bytes of %d: %v", len(got), len(want), err)
			}
		})
	}
}

func TestClient_manyConnectionsAtOnce_areOneWake(t *testing.T) {
	withFreezer(t)
	for _, depth := range []idle.Depth{idle.Freeze, idle.Park} {
		t.Run(depth.String(), func(t *testing.T) {
			c := launch(t, spec(t, "http"))
			awaitState(t, c, idle.Ready)
			sleep(t, c, depth)
			before, addr := status(t, c).Wakes, status(t, c).Listen
			var all sync.WaitGroup
			for range 200 {
				all.Go(func() {
					if _, err := getFrom(addr, "/"); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if after := status(t, c).Wakes; after != before+1 {
				t.Fatalf("%d wakes", after-before)
			}
		})
	}
}

func TestClient_exitsWhileFrozen_isReported(t *testing.T) {
	withFreezer(t)
	s := spec(t, "http")
	if s.Cgroup.Unified == "" {
		t.Skip("NEEDS THE V2 FREEZER: in v1 a frozen process does not die")
	}
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Freeze)
	killAll(t, s.Cgroup.Unified)
	e, err := c.Wait(t.Context())
	if err != nil || e.Signal != int(syscall.SIGKILL) {
		t.Fatal(e, err)
	}
	wantIn(t, events(t, c, shepherd.EventExited).Message, "signal 9")
}

// killAll kills every process of a cgroup.
func killAll(t *testing.T, dir string) {
	t.Helper()
	procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	for field := range strings.FieldsSeq(string(procs)) {
		pid, err := strconv.Atoi(field)
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestClient_signalToTheFrozen_thawsFirst(t *testing.T) {
	withFreezer(t)
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Freeze)
	if err := c.Signal(t.Context(), "SIGTERM"); err != nil {
		t.Fatal(err)
	}
	if e, err := c.Wait(t.Context()); err != nil || e.Signal != int(syscall.SIGTERM) {
		t.Fatal(e, err)
	}
}

// field case 28: a TERM that a frozen process does not see
func TestClient_stopOfTheFrozen_isSeen(t *testing.T) {
	withFreezer(t)
	c := launch(t, spec(t, "http"))
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Freeze)
	if err := c.Stop(t.Context(), patience, ""); err != nil {
		t.Fatal(err)
	}
	if e, err := c.Wait(t.Context()); err != nil || e.Signal != int(syscall.SIGTERM) {
		t.Fatal(e, err)
	}
}

func TestClient_memoryIsShort_parksTheFrozen(t *testing.T) {
	withFreezer(t)
	if _, err := os.Stat("/proc/pressure/cpu"); err != nil {
		t.Skip("NEEDS PSI: ", err)
	}
	s := spec(t, "http")
	s.FreezeAfter, s.ParkAfter = time.Hour, 2*time.Hour
	s.Pressure = "/proc/pressure/cpu" // the kind of pressure that a test can make
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Freeze)
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for range 8 {
		busy.Go(func() { spin(stop) })
	}
	await(t, c, "parked", func(s shepherd.Status) bool { return s.Depth == idle.Park })
	close(stop)
	busy.Wait()
	wantIn(t, events(t, c, shepherd.EventParked).Message, "memory is short")
}

func spin(stop <-chan struct{}) {
	for {
		if closed(stop) {
			return
		}
	}
}

func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// A request at every instant of falling asleep is answered: what comes between the decision
// and the freeze is looked for with all standing still.
func TestClient_requestWhileFreezing_isAnswered(t *testing.T) {
	withFreezer(t)
	for name, s := range map[string]shepherd.Spec{"relay": spec(t, "http"), "socket": socketSpec(t)} {
		t.Run(name, func(t *testing.T) {
			s.FreezeAfter = 10 * time.Millisecond
			c := launch(t, s)
			mustGet(t, c, "/")
			for i := range 80 {
				pauseFor(t, s.FreezeAfter+time.Duration(i%20)*100*time.Microsecond)
				began := time.Now()
				mustGet(t, c, "/")
				if took := time.Since(began); took > 3*time.Second {
					t.Fatalf("answered after %s", took)
				}
			}
			if s := status(t, c); s.Wakes == 0 {
				t.Errorf("it never slept: %+v", s)
			}
		})
	}
}

func TestClient_noPSI_isNoError(t *testing.T) {
	withFreezer(t)
	s := spec(t, "http")
	s.FreezeAfter, s.ParkAfter = time.Hour, 2*time.Hour
	s.Pressure = "/proc/pressure/nothing"
	c := launch(t, s)
	awaitState(t, c, idle.Ready)
	sleep(t, c, idle.Freeze)
	wantIn(t, mustGet(t, c, "/"), "pid ")
}

// echo sends a text and wants it back.
func echo(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != text {
		t.Fatalf("%q %v", got, err)
	}
}
