package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestProxy_requestHead_isPassedOnWithForwardedHeaders(t *testing.T) {
	var got *http.Request
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r })
	for _, method := range []string{"GET", "POST"} { // without and with a body
		inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
			var body io.Reader
			if method == "POST" {
				body = strings.NewReader("x")
			}
			r := w.request(method, "/a%2Fb//c?x=1;y=2&&", body)
			r.Host = appHost + ":8080"
			r.Header = http.Header{
				"X-Forwarded-For": {"203.0.113.9"}, "X-Forwarded-Proto": {"https"},
				"Connection": {"X-Hop, keep-alive"}, "X-Hop": {"1"}, "Keep-Alive": {"x"},
				"Proxy-Authorization": {"x"}, "Te": {"trailers, deflate"}, "X-Two": {"a", "b"},
				"User-Agent": {""},
			}
			w.wantStatus(w.do(r), 200)
			for name, want := range map[string]string{
				"X-Forwarded-For": "203.0.113.9, 192.0.2.7", "X-Forwarded-Proto": "https",
				"X-Forwarded-Host": appHost + ":8080", "X-Hop": "", "Keep-Alive": "",
				"Proxy-Authorization": "", "Te": "trailers", "X-Two": "a,b", "User-Agent": "",
			} {
				if v := strings.Join(got.Header[name], ","); v != want {
					t.Errorf("%s: %s is %q, want %q", method, name, v, want)
				}
			}
			if got.Host != appHost+":8080" || got.RequestURI != "/a%2Fb//c?x=1;y=2&&" {
				t.Errorf("%s: host %q, URI %q", method, got.Host, got.RequestURI)
			}
		})
	}
}

func TestProxy_answerHead_isPassedOnWithoutHopHeaders(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("X-Hop", "1")
		w.Header().Set("Connection", r.URL.Query().Get("connection"))
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, strings.Repeat("x", 100000))
	})
	inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
		for _, query := range []string{"", "?connection=X-Hop", "?connection=close"} {
			a := w.get("/" + query)
			w.wantStatus(a, http.StatusTeapot)
			if len(a.Header["Set-Cookie"]) != 2 || a.Header.Get("Keep-Alive") != "" || len(a.body) != 100000 {
				t.Errorf("%s: %v, body of %d", query, a.Header, len(a.body))
			}
			if hop := a.Header.Get("X-Hop"); (hop == "") != (query == "?connection=X-Hop") {
				t.Errorf("%s: X-Hop is %q", query, hop)
			}
		}
	})
}

func TestProxy_HEAD_keepsLengthAndHasNoBody(t *testing.T) {
	inWorld(t, setup{awake: true}, func(w *world) {
		before := w.net.dialled(appAddr)
		for range 2 {
			a := w.do(w.request("HEAD", "/", nil))
			w.wantStatus(a, 200)
			if a.ContentLength != 5 || a.body != "" {
				t.Errorf("length %d, body %q", a.ContentLength, a.body)
			}
		}
		if n := w.net.dialled(appAddr) - before; n != 1 {
			t.Errorf("%d connections were made", n)
		}
	})
}

func TestProxy_bodilessStatuses(t *testing.T) {
	for _, code := range []int{204, 304} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", `"x"`)
			w.WriteHeader(code)
		})
		inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
			for _, body := range []io.Reader{nil, strings.NewReader("x")} {
				a := w.do(w.request("PUT", "/", body))
				w.wantStatus(a, code)
				if a.body != "" || a.Header.Get("Etag") == "" {
					t.Errorf("%d: %q %v", code, a.body, a.Header)
				}
			}
		})
	}
}

func TestProxy_informationalAnswers_arePassedOn(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.Header().Set("X-Final", "1")
		io.WriteString(w, "done")
	})
	inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
		for _, body := range []io.Reader{nil, strings.NewReader("x")} {
			hints := ""
			trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				hints += fmt.Sprint(code, h.Get("Link"))
				return nil
			}}
			r := w.request("PUT", "/", body)
			a := w.do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
			if hints != "103</style.css>; rel=preload" {
				t.Errorf("hints: %q", hints)
			}
			if a.body != "done" || a.Header.Get("Link") != "" || a.Header.Get("X-Final") != "1" {
				t.Errorf("final answer: %q %v", a.body, a.Header)
			}
		}
	})
}

func TestProxy_trailers_bothWays(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Announced")
		io.Copy(w, r.Body)
		w.Header().Set("X-Announced", "yes "+r.Trailer.Get("X-Sum"))
		if r.URL.Path == "/surprise" {
			w.Header().Set(http.TrailerPrefix+"X-Surprise", "too")
		}
	})
	inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
		for path, want := range map[string]string{"/": "", "/surprise": "too"} {
			r := w.request("POST", path, io.NopCloser(strings.NewReader("body")))
			r.Trailer = http.Header{"X-Sum": {"42"}}
			a := w.do(r)
			if a.body != "body" || a.Trailer.Get("X-Announced") != "yes 42" || a.Trailer.Get("X-Surprise") != want {
				t.Errorf("%s: %q, trailer %v", path, a.body, a.Trailer)
			}
			a = w.get(path)
			if v := a.Trailer["X-Announced"]; len(v) != 1 || a.Trailer.Get("X-Surprise") != want {
				t.Errorf("%s: trailer %v", path, a.Trailer)
			}
		}
	})
}

// rawApp answers each connection's requests with what is given, then closes it.
func rawApp(answers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		for i, a := range answers {
			if i > 0 {
				if _, err := http.ReadRequest(in.Reader); err != nil {
					return
				}
			}
			io.WriteString(conn, a)
		}
	})
}

func TestProxy_answersOfAllKinds(t *testing.T) {
	long := strings.Repeat("x", 20000)
	for name, c := range map[string]struct {
		raw    string
		status int
		body   string
	}{
		"simple":           {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok"},
		"no reason":        {"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", 200, "ok"},
		"lower case":       {"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", 200, "ok"},
		"until closed":     {"HTTP/1.1 200 OK\r\n\r\nok", 200, "ok"},
		"HTTP/1.0":         {"HTTP/1.0 200 OK\r\n\r\nok", 200, "ok"},
		"chunked":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, "ok"},
		"folded":           {"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok", 200, "ok"},
		"bare newlines":    {"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, "ok"},
		"same length":      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200, "ok"},
		"long head":        {"HTTP/1.1 200 OK\r\nX: " + long + "\r\nContent-Length: 2\r\n\r\nok", 200, "ok"},
		"two lengths":      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", 502, ""},
		"bad length":       {"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", 502, ""},
		"no HTTP":          {"hello\r\n\r\n", 502, ""},
		"bad name":         {"HTTP/1.1 200 OK\r\nX\x00Y: 1\r\nContent-Length: 2\r\n\r\nok", 502, ""},
		"cut in the head":  {"HTTP/1.1 200 OK\r\nContent-Le", 502, ""},
		"nothing":          {"", 502, ""},
		"head without end": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat(long, 60), 502, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, setup{app: &app{handler: rawApp(c.raw)}, awake: true}, func(w *world) {
				a := w.get("/")
				w.wantStatus(a, c.status)
				if c.body != "" && a.body != c.body {
					t.Errorf("body is %q", a.body)
				}
			})
		})
	}
}

// Bytes after an answer belong to nobody: the connection is not used again.
func TestProxy_bytesAfterTheAnswer_spoilTheConnection(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	raw := rawApp(ok+"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", ok)
	inWorld(t, setup{app: &app{handler: raw}, awake: true}, func(w *world) {
		for range 3 {
			if a := w.get("/"); a.body != "ok" {
				t.Errorf("body is %q", a.body)
			}
		}
	})
}

// A kept connection that died under a request without a body is no reason for an error; a
// request that cannot be repeated does not get such a connection.
func TestProxy_keptConnectionDied_requestIsAnsweredAllTheSame(t *testing.T) {
	const keepAlive = 1500 * time.Millisecond
	requests := atomic.Int32{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		conn.SetReadDeadline(time.Now().Add(keepAlive))
		if _, err := in.Peek(1); err == nil {
			io.Copy(io.Discard, bufio.NewReader(in)) // dies when it is used again
		}
	})
	inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
		for range 3 {
			for _, method := range []string{"GET", "DELETE"} {
				time.Sleep(keepAlive)
				w.wantStatus(w.do(w.request(method, "/", nil)), 200)
			}
		}
		if n := requests.Swap(0); n != 6 {
			t.Errorf("%d requests arrived, want 6", n)
		}
	})
}

// Connections are kept, and given up before a common server's keep-alive ends.
func TestProxy_connections_areKeptForAWhile(t *testing.T) {
	inWorld(t, setup{awake: true}, func(w *world) {
		probes := w.net.dialled(appAddr)
		ours := func() int { return w.net.dialled(appAddr) - probes }
		for range 10 {
			w.wantStatus(w.get("/"), 200)
		}
		if n := ours(); n != 1 {
			t.Errorf("%d connections for 10 requests", n)
		}
	})
}
