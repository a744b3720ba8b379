//go:build e2e

package e2e

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// contender is one way to sleep and to wake.
type contender struct {
	samples
	what  string
	ours  bool   // it has a goal to reach
	every int    // it takes part in every so manyth round
	sleep func() // returns when it sleeps for sure
	wake  func() time.Duration
}

// race has the contenders sleep and wake by turns, so that whatever else the machine does
// hits all of them.
func race(rounds int, contenders []*contender) {
	for i := range rounds {
		for _, c := range contenders {
			if i%c.every == 0 {
				c.sleep()
				c.took(c.wake())
			}
		}
	}
}

// frozen measures from a connection, or where nobody takes one from the command that wakes, to
// the first byte.
func (b *bench) frozen() {
	awake := b.nap("awake", "relay")
	all := []*contender{{what: "never asleep, relay: the noise", every: 1, sleep: func() {},
		wake: func() time.Duration { return b.firstByte(awake.addr, true) }}}
	for _, activation := range []string{"relay", "socket"} {
		asks := b.nap("asks-"+activation, activation)
		greets := b.nap("greets-"+activation, activation, "greet")
		all = append(all,
			&contender{what: "frozen, " + activation + ", a request waits", every: 1, ours: true,
				sleep: asks.freeze,
				wake:  func() time.Duration { return b.firstByte(asks.addr, true) }},
			&contender{what: "frozen, " + activation + ", the app speaks first", every: 1, ours: true,
				sleep: greets.freeze,
				wake:  func() time.Duration { return b.firstByte(greets.addr, false) }})
	}
	if b.docker != nil {
		c := b.docker.hostNetwork()
		all = append(all, &contender{what: "docker unpause, a request waits", every: 5,
			sleep: func() { c.do("pause") }, wake: func() time.Duration { return b.unpause(c) }})
	}
	race(b.rounds(1000), all)
	var rows []row
	for _, c := range all {
		r := row{what: c.what, samples: &c.samples}
		if c.ours {
			r.goal, r.met, r.noise = frozenGoal, meetsFrozenGoal, &all[0].samples
		}
		rows = append(rows, r)
	}
	b.table.add("frozen: connection → first byte", rows...)
}

const frozenGoal = "p50 ≤ 1.5, p99 ≤ 5 ms"

func meetsFrozenGoal(s *samples) bool { return s.p50() <= 1.5 && s.p99() <= 5 }

// parked measures the same, with the application's own start in it.
func (b *bench) parked() {
	own := &contender{what: "the app's own start", every: 1, sleep: func() {}, wake: b.ownStart}
	all := []*contender{own}
	for _, activation := range []string{"relay", "socket"} {
		n := b.nap("parks-"+activation, activation)
		all = append(all, &contender{what: "parked, " + activation, every: 1, ours: true,
			sleep: n.park, wake: func() time.Duration { return b.firstByte(n.addr, true) }})
	}
	if b.docker != nil {
		c := b.docker.hostNetwork()
		all = append(all, &contender{what: "docker start, after docker stop", every: 5,
			sleep: func() { c.do("stop?t=2") }, wake: func() time.Duration { return b.restart(c) }})
	}
	race(b.rounds(200), all)
	var rows, beyonds []row
	for _, c := range all {
		rows = append(rows, row{what: c.what, samples: &c.samples})
		if c.ours {
			beyonds = append(beyonds, row{what: c.what + " − the app's own start",
				samples: c.against(&own.samples, "ms", beyond),
				goal:    "p50 ≤ 10 ms", met: func(s *samples) bool { return s.p50() <= 10 }})
		}
	}
	b.table.add("parked: connection → first byte", append(rows, beyonds...)...)
}

// nap is a task of the driver that is put to sleep again and again.
type nap struct {
	b     *bench
	addr  string
	alloc *nomad.Allocation
	pid   int // of its process when it was started
}

// nap runs the application as a task that never sleeps by itself, with processor time enough.
func (b *bench) nap(id, activation string, args ...string) *nap {
	b.Helper()
	b.d.run(drivenJob{id: id,
		config: map[string]any{"command": b.app, "args": args, "listen": "http",
			"activation": activation, "freeze_after": ""},
		edit: func(job *nomad.Job) { job.TaskGroups[0].Tasks[0].Resources.CPU = new(400) }})
	n := &nap{b: b, addr: b.d.addr(id), alloc: b.d.alloc(id)}
	b.firstByte(n.addr, len(args) == 0)
	pids := processesOf(b, n.alloc.ID)
	if len(pids) != 1 {
		b.Fatalf("%s has the processes %v", id, pids)
	}
	n.pid = pids[0]
	return n
}

func (n *nap) freeze() {
	n.sleep("SIGSTOP", func() bool { return isFrozen(n.b, n.pid) })
}

func (n *nap) park() {
	n.sleep("SIGTSTP", func() bool { return len(processesOf(n.b, n.alloc.ID)) == 0 })
}

// sleep asks again where the end of the last connection has just woken it, or keeps it awake.
func (n *nap) sleep(signal string, sleeps func() bool) {
	n.b.Helper()
	d := n.b.d
	d.await("sleep", func() error {
		err := d.client.Allocations().Signal(n.alloc, d.query(), "app", signal)
		if err == nil && !sleeps() {
			err = errors.New("it does not sleep")
		}
		return err
	})
}

// firstByte is how long it takes from dialling to the first byte, which comes by itself or
// for a request that is sent at once.
func (b *bench) firstByte(addr string, asks bool) time.Duration {
	b.Helper()
	return firstByte(b, addr, asks)
}

func firstByte(t testing.TB, addr string, asks bool) time.Duration {
	t.Helper()
	began := time.Now()
	conn, err := net.Dial("tcp", addr)
	fail(t, err)
	defer conn.Close()
	if asks {
		ask(t, conn)
	}
	return firstByteOf(t, conn, began)
}

// ask sends a request that is the connection's last.
func ask(t testing.TB, conn net.Conn) {
	t.Helper()
	_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: app\r\nConnection: close\r\n\r\n")
	fail(t, err)
}

// firstByteOf returns how long after began the first byte came, once the server has hung up.
func firstByteOf(t testing.TB, conn net.Conn, began time.Time) time.Duration {
	t.Helper()
	fail(t, conn.SetDeadline(began.Add(patience)))
	_, err := conn.Read(make([]byte, 1))
	took := time.Since(began)
	fail(t, err)
	_, err = io.Copy(io.Discard, conn)
	fail(t, err)
	return took
}

// unpause sends a request to a paused container and then has it go on.
func (b *bench) unpause(c *container) time.Duration {
	b.Helper()
	began := time.Now()
	conn := c.dial()
	defer conn.Close()
	ask(b, conn)
	c.do("unpause")
	return firstByteOf(b, conn, began)
}

// restart starts a stopped container and sends a request as soon as its port is open.
func (b *bench) restart(c *container) time.Duration {
	b.Helper()
	began := time.Now()
	c.do("start")
	conn := c.dial()
	defer conn.Close()
	ask(b, conn)
	return firstByteOf(b, conn, began)
}

// ownStart starts the application as a plain process, with a request waiting for it, and ends
// it: nothing polls for its port, and nothing stands between.
func (b *bench) ownStart() time.Duration {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	fail(b, err)
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	fail(b, err)
	defer file.Close()
	cmd := exec.Command(b.app)
	cmd.Env = []string{"LISTEN_FDS=1"}
	cmd.ExtraFiles = []*os.File{file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody(b)}
	conn, err := net.Dial("tcp", listener.Addr().String())
	fail(b, err)
	defer conn.Close()
	ask(b, conn)
	began := time.Now()
	fail(b, cmd.Start())
	took := firstByteOf(b, conn, began)
	fail(b, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	return took
}

// nobody is the user whom the driver's tasks run as.
func nobody(t testing.TB) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("nobody")
	fail(t, err)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	fail(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	fail(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
