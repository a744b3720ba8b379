package shepherd_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
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

// BenchmarkStart is the same for a parked task; the application's own start is in it, which
// is what "alone" takes without a shepherd.
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
	b.Run("alone", benchmarkAlone)
}

// benchmarkAlone is from an application's start to its first byte, asked for again and again.
func benchmarkAlone(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(addr)
	var took []time.Duration
	for b.Loop() {
		app := exec.Command(binary, "app", "http")
		app.Env = []string{"DOZE_PORT=" + port}
		began := time.Now()
		if err := app.Start(); err != nil {
			b.Fatal(err)
		}
		for {
			if _, err := firstByte(addr, false); err == nil {
				break
			}
		}
		took = append(took, time.Since(began))
		b.StopTimer()
		_ = app.Process.Kill() // it has not ended
		_ = app.Wait()
		b.StartTimer()
	}
	report(b, took)
}

// report gives percentiles.
func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
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
	report(b, took)
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
