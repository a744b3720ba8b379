package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// exchangeRaw sends bytes to the gate as they are and returns what comes back within a
// minute.
func (w *world) exchangeRaw(sent string) string {
	w.t.Helper()
	conn, err := w.dialGate(w.t.Context(), "tcp", "")
	w.must(err)
	defer conn.Close()
	go io.WriteString(conn, sent)
	w.must(conn.SetReadDeadline(time.Now().Add(time.Minute)))
	got, _ := io.ReadAll(conn)
	return string(got)
}

// recorder is an app that remembers what it was asked.
type recorder struct {
	mu   sync.Mutex
	seen []string
}

func (a *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, fmt.Sprintf("%s %s %s %q", r.Method, r.RequestURI, r.Host, body))
	for name, values := range r.Header {
		a.seen = append(a.seen, fmt.Sprintf("%s: %q", name, values))
	}
}

// take returns what was asked since it was last called.
func (a *recorder) take() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() { a.seen = nil }()
	return strings.Join(a.seen, "\n")
}

// warm has the wake's first answer out of the way, which the front leaves to the server.
func (w *world) warm(seen *recorder) {
	w.t.Helper()
	w.wantStatus(w.get("/"), 200)
	seen.take()
}

// What has more than one reading reaches no target (RFC 9112, 3.2 and 6.3).
func TestSmuggling_ambiguousRequests_areRefused(t *testing.T) {
	const host, coding = "Host: " + appHost + "\r\n", "Transfer-Encoding: chunked"
	for name, request := range map[string]string{
		"port with more":       "GET / HTTP/1.1\r\nHost: app.example.com:80 x\r\n\r\n",
		"port of letters":      "GET / HTTP/1.1\r\nHost: app.example.com:@evil\r\n\r\n",
		"two ports":            "GET / HTTP/1.1\r\nHost: app.example.com:80:80\r\n\r\n",
		"empty and other host": "GET / HTTP/1.1\r\nHost:\r\n" + host + "\r\n",
		"other and empty host": "GET / HTTP/1.1\r\n" + host + "Host:\r\n\r\n",
		"two hosts":            "GET / HTTP/1.1\r\n" + host + host + "\r\n",
		"no host":              "GET / HTTP/1.1\r\n\r\n",
		"fragment":             "GET /#/x HTTP/1.1\r\n" + host + "\r\n",
		"opaque target":        "GET x:admin HTTP/1.1\r\n" + host + "\r\n",
		"space in target":      "GET /a b HTTP/1.1\r\n" + host + "\r\n",
		"space before colon":   "GET / HTTP/1.1\r\n" + host + "Content-Length : 1\r\n\r\nx",
		"two lengths":          "POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
		"list of lengths":      "POST / HTTP/1.1\r\n" + host + "Content-Length: 1, 1\r\n\r\nx",
		"signed length":        "POST / HTTP/1.1\r\n" + host + "Content-Length: +1\r\n\r\nx",
		"coded otherwise":      "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"coded twice":          "POST / HTTP/1.1\r\n" + host + coding + ", chunked\r\n\r\n0\r\n\r\n",
		"bare CR in a value":   "GET / HTTP/1.1\r\n" + host + "X: a\rTransfer-Encoding: chunked\r\n\r\n",
		"NUL in a value":       "GET / HTTP/1.1\r\n" + host + "X: a\x00b\r\n\r\n",
		"NUL in a name":        "GET / HTTP/1.1\r\n" + host + "X\x00: b\r\n\r\n",
		"folded first line":    "GET / HTTP/1.1\r\n X: y\r\n" + host + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			seen := &recorder{}
			inWorld(t, setup{app: &app{handler: seen}, awake: true}, func(w *world) {
				w.warm(seen)
				got := w.exchangeRaw(request + "GET /second HTTP/1.1\r\n" + host + "\r\n")
				if asked := seen.take(); asked != "" {
					t.Errorf("the target saw %s", asked)
				}
				if !strings.HasPrefix(got, "HTTP/1.1 400 ") && !strings.HasPrefix(got, "HTTP/1.1 501 ") ||
					strings.Count(got, "HTTP/1.1 ") != 1 {
					t.Errorf("answer is %q", got)
				}
			})
		})
	}
}

// Content-Length and the size of what came agree, in HTTP/2 as well (RFC 9113, 8.1.1), and
// no part of :path becomes a part of the request line.
func TestSmuggling_fromHTTP2_isRefused(t *testing.T) {
	const refused = "doze; error=http_request_error"
	for name, c := range map[string]struct{ path, field, value, answer string }{
		"space in the query": {"/x?a HTTP/1.0", "x", "y", refused},
		"space in an opaque": {"x:admin HTTP/1.0", "x", "y", refused},
		"transfer encoding":  {"/", "transfer-encoding", "chunked", `":status" = "400"`},
		"line in a value":    {"/", "x", "a\r\nTransfer-Encoding: chunked", "RST_STREAM"},
		"line in the path":   {"/ HTTP/1.1\r\nX: y", "x", "y", "RST_STREAM"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := &recorder{}
			onServer(t, setup{app: &app{handler: seen}, awake: true}, func(w *world) {
				w.warm(seen)
				answer := w.sendHTTP2(c.path, c.field, c.value)
				if asked := seen.take(); asked != "" {
					t.Errorf("the target saw %s", asked)
				}
				w.mustContain(answer, c.answer)
			})
		})
	}
}

// A length that no body follows becomes none (RFC 9113, 8.1.1).
func TestSmuggling_lengthWithoutBodyFromHTTP2_isNotPassedOn(t *testing.T) {
	seen := &recorder{}
	onServer(t, setup{app: &app{handler: seen}, awake: true}, func(w *world) {
		w.warm(seen)
		w.sendHTTP2("/", "content-length", "5")
		if asked := seen.take(); strings.Contains(asked, `["5"]`) {
			t.Errorf("the target saw %s", asked)
		}
	})
}

// sendHTTP2 sends one request without a body, and returns how it was answered.
func (w *world) sendHTTP2(path, field, value string) (answer string) {
	w.t.Helper()
	conn, err := w.dialGate(w.t.Context(), "tcp", "")
	w.must(err)
	defer conn.Close()
	var sent bytes.Buffer
	sent.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&sent, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	w.must(framer.WriteSettings())
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":authority", appHost}, {":path", path}, {field, value},
	} {
		w.must(enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	w.must(framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true,
	}))
	go conn.Write(sent.Bytes())
	w.must(conn.SetReadDeadline(time.Now().Add(time.Minute)))
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return ""
		}
		switch f := frame.(type) {
		case *http2.RSTStreamFrame:
			return f.String()
		case *http2.MetaHeadersFrame:
			return fmt.Sprint(f.Fields)
		}
	}
}

// A target that changed to HTTP/2 would serve requests that the gate never sees, with any
// host, path and X-Forwarded-For (RFC 9113, 3.1 has done away with that upgrade).
func TestSmuggling_upgradesThatAreNone_areNotOffered(t *testing.T) {
	const host, upgrade = "Host: " + appHost + "\r\n", "Connection: Upgrade\r\n"
	for name, request := range map[string]string{
		"h2c": "GET / HTTP/1.1\r\n" + host + "Connection: Upgrade, HTTP2-Settings\r\n" +
			"Upgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
		"h2c in a list": "GET / HTTP/1.1\r\n" + host + upgrade + "Upgrade: websocket, H2C\r\n\r\n",
		"h2c apart": "GET / HTTP/1.1\r\n" + host + upgrade +
			"Upgrade: websocket\r\nUpgrade: h2c\r\n\r\n",
		"other HTTP":    "GET / HTTP/1.1\r\n" + host + upgrade + "Upgrade: HTTP/2.0\r\n\r\n",
		"from HTTP/1.0": "GET / HTTP/1.0\r\n" + host + upgrade + "Upgrade: websocket\r\n\r\n",
		"not nominated": "GET / HTTP/1.1\r\n" + host + "Upgrade: websocket\r\n\r\n",
		"for one length": "GET / HTTP/1.1\r\n" + host +
			"Connection: content-length, x-forwarded-for, host\r\nContent-Length: 1\r\n\r\nx",
	} {
		t.Run(name, func(t *testing.T) {
			seen := &recorder{}
			inWorld(t, setup{app: &app{handler: seen}, awake: true}, func(w *world) {
				w.warm(seen)
				w.exchangeRaw(request)
				asked := seen.take()
				if strings.Contains(asked, "Upgrade") || strings.Contains(asked, "Http2") {
					t.Errorf("the target saw %s", asked)
				}
				w.mustContain(asked, "GET / "+appHost)
				w.mustContain(asked, `X-Forwarded-For: ["192.0.2.7"]`)
			})
		})
	}
}
