package shepherd_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

// BenchmarkThaw is from the connection to a sleeping task to its first byte: relayed, with
// the request sent at once; relayed, with the request sent after the wake has begun; and
// with the socket handed over. Percentiles are reported beside the mean.
func BenchmarkThaw(b *testing.B) {
	withFreezer(b)
	for _, way := range []string{"relay", "relay-late-data", "socket"} {
		b.Run(way, func(b *testing.B) {
			s := spec(b, "http")
			if way == "socket" {
				s = socketSpec(b)
			}
			benchmarkWake(b, s, idle.Freeze, way == "relay-late-data")
		})
	}
}

// BenchmarkStart is the same for a parked task; the application's own start is in it. Its
// part is what own-start reports: fork, exec and the time until its port is open.
func BenchmarkStart(b *testing.B) {
	for _, way := range []string{"relay", "socket"} {
		b.Run(way, func(b *testing.B) {
			s := spec(b, "http")
			if way == "socket" {
				s = socketSpec(b)
			}
			benchmarkWake(b, s, idle.Park, false)
		})
	}
}

func benchmarkWake(b *testing.B, s shepherd.Spec, depth idle.Depth, lateData bool) {
	c := launch(b, s)
	addr := awaitState(b, c, idle.Ready).Listen
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		await(b, c, "asleep", func(shepherd.Status) bool {
			return c.Sleep(b.Context(), depth) == nil
		})
		b.StartTimer()
		d, err := firstByte(addr, lateData)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, d)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// firstByte is how long a task takes to answer, from the connection on or, where the request
// comes late, from the request on.
func firstByte(addr string, lateData bool) (time.Duration, error) {
	began := time.Now()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if lateData {
		time.Sleep(200 * time.Microsecond)
		began = time.Now()
	}
	if err := sendRequest(conn); err != nil {
		return 0, err
	}
	_, err = conn.Read(make([]byte, 1))
	return time.Since(began), err
}

// BenchmarkRelay is one small request and its answer, on connections that stay open: with
// the shepherd in between, with the socket handed over, and to the application itself.
func BenchmarkRelay(b *testing.B) {
	for _, way := range []string{"relay", "socket", "direct"} {
		b.Run(way, func(b *testing.B) {
			s := spec(b, "http")
			if way == "socket" {
				s = socketSpec(b)
			}
			st := awaitState(b, launch(b, s), idle.Ready)
			addr := st.Listen
			if way == "direct" {
				addr = fmt.Sprintf("127.0.0.1:%d", st.Port)
			}
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) { keepAsking(b, addr, pb) })
		})
	}
}

func keepAsking(b *testing.B, addr string, pb *testing.PB) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Error(err)
		return
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for pb.Next() {
		if err := sendRequest(conn); err != nil {
			b.Error(err)
			return
		}
		r, err := http.ReadResponse(answers, nil)
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
		}
		if err != nil {
			b.Error(err)
			return
		}
	}
}

// BenchmarkRelayBulk is a stream in one direction, 64 KiB at a time.
func BenchmarkRelayBulk(b *testing.B) {
	c := launch(b, spec(b, "echo"))
	conn := dial(b, c)
	if err := conn.SetDeadline(time.Time{}); err != nil {
		b.Fatal(err)
	}
	block := make([]byte, 64<<10)
	var back atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		n, _ := io.Copy(io.Discard, conn)
		back.Store(n)
	}()
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		if _, err := conn.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	_ = conn.CloseWrite()
	<-done
}

// BenchmarkMemory reports what one shepherd occupies beside its application, in KiB of
// proportional set size: awake after a request, and frozen. The test binary is not doze:
// the real figure is measured there.
func BenchmarkMemory(b *testing.B) {
	withFreezer(b)
	for b.Loop() {
		c := launch(b, spec(b, "http"))
		st := awaitState(b, c, idle.Ready)
		mustGet(b, c, "/")
		b.ReportMetric(pss(b, st.Shepherd), "awake-KiB")
		sleep(b, c, idle.Freeze)
		b.ReportMetric(pss(b, st.Shepherd), "frozen-KiB")
	}
}

func pss(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "Pss: %f", &kib); n == 1 {
			return kib
		}
	}
	b.Fatal("no Pss")
	return 0
}
