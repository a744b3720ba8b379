package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"

	"doze/api"
)

// BenchmarkFront_readyRequest is one request after the other on one connection, against an
// app in this process: the latency of the whole way there and back.
func BenchmarkFront_readyRequest(b *testing.B) {
	for _, name := range []string{"direct", "front", "server"} {
		b.Run(name, func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()
			app := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, "hello, world")
			})}
			addr := serveTCP(b, &running, app)
			defer app.Close()
			if name != "direct" {
				gate := benchGate(b, ctx, addr)
				s := server(gate.Front())
				if name == "server" {
					s = gate.Server()
				}
				addr = serveTCP(b, &running, s)
				defer s.Close()
			}
			wake, err := http.Get("http://" + addr)
			if err != nil {
				b.Fatal(err)
			}
			wake.Body.Close()
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			b.ReportAllocs()
			for b.Loop() {
				ask(b, conn, in)
			}
		})
	}
}

func ask(b *testing.B, conn net.Conn, in *bufio.Reader) {
	if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", appHost); err != nil {
		b.Fatal(err)
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
		b.Fatal(res.Status, err)
	}
}

// BenchmarkRoutes_memory reports the bytes that one sleeping group's routes take.
func BenchmarkRoutes_memory(b *testing.B) {
	tab := newTable()
	const n = 100_000
	var sites []*api.Site
	for i := range n {
		sites = append(sites, tab.site(b, fmt.Sprint("job", i), 1, hosts(fmt.Sprintf("app%d.example.com", i))))
	}
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		routes := api.NewRoutes()
		for _, s := range sites {
			routes.Put(s)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/group")
		runtime.KeepAlive(routes)
	}
}
