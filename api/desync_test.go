package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fromTarget asks once more, when the wake has had its first answer, and hands check all
// that the gate sends when the target answers like this.
func fromTarget(t *testing.T, version, answer string, check func(t *testing.T, got string)) {
	t.Helper()
	raw := rawApp("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", answer)
	inWorld(t, setup{app: &app{handler: raw}, awake: true}, func(w *world) {
		w.wantStatus(w.get("/"), 200)
		request := "GET / " + version + "\r\nHost: " + appHost + "\r\nConnection: keep-alive\r\n\r\n"
		check(w.t, w.exchangeRaw(request))
	})
}

func TestDesync_answersThatMayMislead_areMadePlain(t *testing.T) {
	const rest = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, c := range map[string]struct {
		version, answer string
		want, never     string
	}{
		"length of no content": {"HTTP/1.1", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
			"HTTP/1.1 204 ", "Content-Length"},
		"connection headers of an early hint": {"HTTP/1.1",
			"HTTP/1.1 103 Early\r\nLink: x\r\nX-Hop: 1\r\nConnection: X-Hop\r\nTransfer-Encoding: chunked\r\n\r\n" + rest,
			"Link: x\r\n", "X-Hop"},
		"coding of an early hint": {"HTTP/1.1",
			"HTTP/1.1 103 Early\r\nLink: x\r\nTransfer-Encoding: chunked\r\n\r\n" + rest, "Link: x\r\n", "chunked"},
		"early hint for HTTP/1.0": {"HTTP/1.0", "HTTP/1.1 103 Early\r\n\r\n" + rest, "200 OK", "103"},
		"status below 100":        {"HTTP/1.1", "HTTP/1.1 042 Answer\r\nContent-Length: 2\r\n\r\nok", "502 ", " 42"},
		"status with a sign":      {"HTTP/1.1", "HTTP/1.1 +20 Answer\r\nContent-Length: 2\r\n\r\nok", "502 ", " 20 "},
		"length in a trailer": {"HTTP/1.1",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"2\r\nok\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\n",
			"X-Sum: 1", "Content-Length: 9"},
		"announced length in a trailer": {"HTTP/1.1",
			"HTTP/1.1 200 OK\r\nTrailer: Host\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"2\r\nok\r\n0\r\nHost: evil\r\n\r\n",
			"ok", "evil"},
		"chunk extension": {"HTTP/1.1",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=\"y\"\r\nok\r\n0\r\n\r\n", "ok", "x="},
		"split by a CR": {"HTTP/1.1",
			"HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 2\r\n\r\nok", "ok", "\rSet-Cookie"},
		"two ways to say how long": {"HTTP/1.1",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n2\r\nok\r\n0\r\n\r\n",
			"ok", "Content-Length: 3"},
		"unasked switch": {"HTTP/1.1",
			"HTTP/1.1 101 Switch\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", "502 ", "101"},
	} {
		t.Run(name, func(t *testing.T) {
			fromTarget(t, c.version, c.answer, func(t *testing.T, got string) {
				if !strings.Contains(got, c.want) || strings.Contains(got, c.never) {
					t.Errorf("got %q, want %q and never %q", got, c.want, c.never)
				}
			})
		})
	}
}

// Not every target reads the body of a GET: to one that does not, it is the next request on
// the connection.
func TestDesync_bodyThatATargetMayIgnore_endsItsConnection(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		for r := r; ; {
			path := r.URL.Path
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(path), path)
			var err error
			time.Sleep(time.Millisecond)
			if r, err = http.ReadRequest(in.Reader); err != nil {
				return
			}
			r.Body = http.NoBody // left where it is
		}
	})
	inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
		w.wantStatus(w.get("/"), 200)
		evil := "GET /evil HTTP/1.1\r\nHost: " + appHost + "\r\n\r\n"
		w.say(fmt.Sprintf("GET /a HOSTContent-Length: %d\r\n\r\n%s", len(evil), evil), "/a")
		w.client.CloseIdleConnections() // which is the server's
		time.Sleep(10 * time.Millisecond)
		for _, path := range []string{"/b", "/c", "/d"} {
			if a := w.get(path); a.body != path {
				t.Errorf("%s was answered with %q", path, a.body)
			}
		}
	})
}

// A client that reads nothing does not keep its group awake for ever.
func TestFront_clientThatDoesNotRead_isCutOff(t *testing.T) {
	for name, method := range map[string]string{"front": "GET", "server": "TRACE"} {
		t.Run(name, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/big" {
					io.WriteString(w, strings.Repeat("x", 10<<20))
				}
			})
			onFront(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
				w.get("/")
				conn, err := w.dialGate(w.t.Context(), "tcp", "")
				w.must(err)
				defer conn.Close()
				fmt.Fprintf(conn, "%s /big HTTP/1.1\r\nHost: %s\r\n\r\n", method, appHost)
				synctest.Wait()
				if n := w.group.Status().InFlight; n != 1 {
					t.Fatalf("in flight: %d", n)
				}
				time.Sleep(3 * time.Minute)
				if n := w.group.Status().InFlight; n != 0 {
					t.Errorf("in flight: %d", n)
				}
			})
		})
	}
}

// One that reads slowly is served to the end.
func TestFront_clientThatReadsSlowly_isServed(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		io.WriteString(w, strings.Repeat("x", 1000000))
	})
	onFront(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
		w.get("/")
		conn, err := w.dialGate(w.t.Context(), "tcp", "")
		w.must(err)
		defer conn.Close()
		go io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+appHost+"\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		w.must(err)
		for range 100 {
			time.Sleep(10 * time.Second)
			if _, err := io.CopyN(io.Discard, res.Body, 10000); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestFront_Shutdown_tellsClientsToClose(t *testing.T) {
	for _, path := range []string{"/simple", "/chunked"} {
		t.Run(path, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(time.Second)
				if r.URL.Path == "/chunked" {
					http.NewResponseController(w).Flush()
				}
			})
			onFront(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
				w.get("/")
				w.client.CloseIdleConnections() // which is the server's
				var asked sync.WaitGroup
				asked.Go(func() {
					if a := w.get(path); !a.Close {
						t.Errorf("header is %v", a.Header)
					}
				})
				synctest.Wait()
				w.must(w.server.Shutdown(w.t.Context()))
				asked.Wait()
			})
		})
	}
}

// A kept connection is looked at before it is used, by requests of all kinds: on real
// connections, where pipes cannot tell.
func TestDesync_keptConnectionWithInput_isNotUsed(t *testing.T) {
	for name, extra := range map[string]string{
		"end":      "",
		"nonsense": "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
	} {
		t.Run(name, func(t *testing.T) {
			var running sync.WaitGroup
			defer running.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			answered, spoilt := make(chan struct{}), make(chan struct{})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			running.Go(func() { spoil(l, extra, answered, spoilt) })
			front := benchGate(t, ctx, l.Addr().String()).Front()
			addr := serveTCP(t, &running, front)
			defer front.Close()
			for range 5 {
				for _, method := range []string{"GET", "POST"} {
					r, err := http.NewRequestWithContext(ctx, method, "http://"+addr, nil)
					if err != nil {
						t.Fatal(err)
					}
					res, err := http.DefaultClient.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					body, _ := io.ReadAll(res.Body)
					res.Body.Close()
					if res.StatusCode != 200 || string(body) != "ok" {
						t.Errorf("%s: %d %q", method, res.StatusCode, body)
					}
					answered <- struct{}{}
					<-spoilt
				}
				http.DefaultClient.CloseIdleConnections()
			}
		})
	}
}

// spoil is a target that answers one request a connection, after which it sends more, or
// closes without a word, when the answer has been read.
func spoil(l net.Listener, extra string, answered <-chan struct{}, spoilt chan<- struct{}) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			<-answered
			io.WriteString(conn, extra)
			if extra == "" {
				conn.Close()
			} else {
				defer conn.Close()
			}
			spoilt <- struct{}{}
			continue
		}
		conn.Close()
	}
}
