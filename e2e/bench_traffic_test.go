//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// road is a way to an awake application.
type road struct {
	what string
	addr string
	pid  int // of the process in between; 0: there is none
	// rate is answers in a second over many connections, in thousands; cost what an answer
	// takes of the processor time of what is in between, in µs; bulk one stream, in GiB/s.
	rate, cost, bulk samples
}

// traffic measures awake tasks: small answers over 32 connections, and a stream.
func (b *bench) traffic() {
	relay, socket := b.nap("passes-relay", "relay"), b.nap("passes-socket", "socket")
	private := b.get("http://" + relay.addr + "/addr")
	roads := []*road{
		{what: "direct", addr: private},
		{what: "direct, once more", addr: private},
		{what: "relay", addr: relay.addr, pid: shepherdOf(b, relay.pid)},
		{what: "socket", addr: socket.addr},
	}
	if proxy := b.haproxy(private); proxy != nil {
		roads = append(roads, proxy)
	}
	rounds := b.rounds(20)
	for i := range rounds {
		for j := range roads { // each is first and last as often as the others
			r := roads[(i+j)%len(roads)]
			b.answers(r)
			b.stream(r)
		}
	}
	b.rateRows(roads)
	var streams []row
	for _, r := range roads {
		streams = append(streams, row{what: r.what, samples: &r.bulk})
	}
	b.table.add("awake: one stream", streams...)
}

func (b *bench) rateRows(roads []*road) {
	direct, again, relay, socket := roads[0], roads[1], roads[2], roads[3]
	var rates []row
	for _, r := range roads {
		rates = append(rates, row{what: r.what, samples: &r.rate})
	}
	noise := again.rate.against(&direct.rate, "×", ratio)
	rates = append(rates, row{what: "direct, once more ÷ direct: the noise", samples: noise},
		row{what: "socket ÷ direct", samples: socket.rate.against(&direct.rate, "×", ratio),
			goal: "within the noise",
			met:  func(s *samples) bool { return s.p50() >= noise.p99() }})
	if len(roads) > 4 {
		proxy := roads[4]
		rates = append(rates, row{what: "relay ÷ HAProxy",
			samples: relay.rate.against(&proxy.rate, "×", ratio), goal: "≥ 0.9 ×",
			met: func(s *samples) bool { return s.p50() >= 0.9 }})
		for _, r := range []*road{relay, proxy} {
			rates = append(rates, row{what: r.what + ": processor time an answer",
				samples: &r.cost})
		}
	}
	b.table.add("awake: small answers over 32 connections", rates...)
}

const haproxyConfig = `
defaults
  mode tcp
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend in
  bind %s
  default_backend app
backend app
  server app %s
`

// haproxy is HAProxy in front of an application; nil: it is not installed.
func (b *bench) haproxy(app string) *road {
	b.Helper()
	path, err := exec.LookPath("haproxy")
	if err != nil {
		b.table.skip("HAProxy is not on PATH: the relay was compared with a direct connection only")
		return nil
	}
	addr := freePorts(b, 1)[0]
	config := filepath.Join(b.TempDir(), "haproxy.cfg")
	fail(b, os.WriteFile(config, fmt.Appendf(nil, haproxyConfig, addr, app), 0o600))
	cmd := exec.Command(path, "-db", "-f", config)
	// In a session of its own, as a daemon and a shepherd are: the kernel deals out processor
	// time by sessions first (sched(7), autogroup), and this one's share is the clients'.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	fail(b, cmd.Start())
	b.Cleanup(func() {
		fail(b, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	})
	waitFor(b, "HAProxy to answer", func() bool {
		conn, err := net.Dial("tcp", addr)
		return err == nil && conn.Close() == nil
	})
	return &road{what: "HAProxy in tcp mode", addr: addr, pid: cmd.Process.Pid}
}

// answers takes one sample of small answers.
func (b *bench) answers(r *road) {
	b.Helper()
	const connections, lasts = 32, 500 * time.Millisecond
	var clients []net.Conn
	for range connections {
		conn, err := net.Dial("tcp", r.addr)
		fail(b, err)
		defer conn.Close()
		clients = append(clients, conn)
	}
	var before time.Duration
	if r.pid != 0 {
		before = ranFor(b, r.pid)
	}
	var all atomic.Int64
	var running sync.WaitGroup
	began := time.Now()
	for _, conn := range clients {
		running.Go(func() {
			n, err := keepAsking(conn, began.Add(lasts))
			all.Add(n)
			if err != nil {
				b.Errorf("%s: %v", r.what, err)
			}
		})
	}
	running.Wait()
	n := float64(all.Load())
	r.rate.unit, r.rate.rates = "k/s", true
	r.rate.add(n / 1000 / time.Since(began).Seconds())
	if r.pid != 0 {
		r.cost.unit = "µs"
		r.cost.add(float64((ranFor(b, r.pid) - before).Microseconds()) / n)
	}
}

// ranFor is how long a process's threads have had a processor, to the nanosecond (the first
// figure of /proc/PID/task/TID/schedstat).
func ranFor(t testing.TB, pid int) time.Duration {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	fail(t, err)
	var sum time.Duration
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // the thread has ended
		}
		fail(t, err)
		var ns int64
		_, err = fmt.Sscan(string(text), &ns)
		fail(t, err)
		sum += time.Duration(ns)
	}
	return sum
}

// keepAsking sends a request after each answer, and returns how many answers there were.
func keepAsking(conn net.Conn, until time.Time) (n int64, err error) {
	request := []byte("GET / HTTP/1.1\r\nHost: app\r\n\r\n")
	buf := make([]byte, 4096)
	for ; time.Now().Before(until); n++ {
		if _, err := conn.Write(request); err != nil {
			return n, err
		}
		for have := 0; !bytes.HasSuffix(buf[:have], []byte("hello, world")); {
			got, err := conn.Read(buf[have:])
			if err != nil {
				return n, err
			}
			have += got
		}
	}
	return n, nil
}

// stream takes one sample of a long answer.
func (b *bench) stream(r *road) {
	b.Helper()
	began := time.Now()
	resp, err := http.Get("http://" + r.addr + "/bulk")
	fail(b, err)
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	fail(b, err)
	r.bulk.unit, r.bulk.rates = "GiB/s", true
	r.bulk.add(float64(n) / (1 << 30) / time.Since(began).Seconds())
}

// get is the body of an answer, over a connection of its own.
func (b *bench) get(url string) string {
	b.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	fail(b, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fail(b, err)
	return string(body)
}
