package api_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"doze/api"
)

// The front against net/http and httputil.ReverseProxy: whatever bytes a client sends, the
// target must be asked nothing by the gate that it would not be asked by those, in the same
// order, and a head that it is sent must have one reading only.
func FuzzFront_requests(f *testing.F) {
	const host = "Host: " + appHost + "\r\n"
	for _, seed := range []string{
		"GET /a HTTP/1.1\r\n" + host + "\r\nGET /b HTTP/1.1\r\n" + host + "\r\n",
		"POST /a HTTP/1.1\r\n" + host + "Content-Length: 4\r\n\r\nbodyGET /b HTTP/1.1\r\n" + host + "\r\n",
		"POST /a HTTP/1.1\r\n" + host +
			"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /b HTTP/1.1\r\n" + host + "\r\n",
		"POST /a HTTP/1.1\r\n" + host +
			"Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n0\r\nX: y\r\n\r\nGET /b HTTP/1.1\r\n" + host + "\r\n",
		"POST /a HTTP/1.0\r\n" + host + "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET /a HTTP/1.1\r\n" + host + "Content-Length: 30\r\n\r\nGET /b HTTP/1.1\r\n" + host + "\r\n",
		"GET /a HTTP/1.1\r\n" + host +
			"Connection: Content-Length\r\nContent-Length: 2\r\n\r\nxyGET /b HTTP/1.1\r\n" + host + "\r\n",
		"GET /a HTTP/1.1\nHost: " + appHost + "\n\nGET /b HTTP/1.1\r\n" + host + "\r\n",
		"GET http://" + appHost + "/a HTTP/1.1\r\nHost: other\r\n\r\n",
		"GET /a HTTP/1.1\r\n" + host + "X: a\r\n folded\r\n\r\n",
		"\r\n\r\nGET /a%2fb?c=%20 HTTP/1.1\r\n" + host + "Expect: 100-continue\r\n\r\n",
		"HEAD /a HTTP/1.1\r\n" + host + "\r\nOPTIONS * HTTP/1.1\r\n" + host + "\r\n",
		"POST /a HTTP/1.1\r\n" + host + "content-length: 007\r\n\r\n1234567GET /b HTTP/1.1\r\n" + host + "\r\n",
	} {
		f.Add([]byte(seed), uint16(0))
		f.Add([]byte(seed), uint16(len(seed)/2))
	}
	f.Add([]byte{0x80, 0x87, 0xa4, 0x81, 0x87, 0x8d, 0xa4, 0xa7, 0xad}, uint16(0))
	f.Add([]byte{0x81, 0x87, 0x8d, 0x94, 0xa4, 0xa8, 0xaa, 0xad, 0xad}, uint16(40))
	f.Fuzz(func(t *testing.T, sent []byte, split uint16) {
		sent = expand(sent)
		var got, want journal
		bubble(t, &got, func(w *world) {
			w.get("/")
			w.client.CloseIdleConnections()
			got.take()
			w.sendInParts(sent, int(split))
		})
		bubble(t, &want, func(w *world) {
			w.get("/")
			want.take()
			w.throughReverseProxy(sent, int(split))
		})
		asked, meant := got.take(), want.take()
		for _, request := range asked {
			i := slices.Index(meant, request)
			if i < 0 {
				t.Fatalf("%q became %q, want one of %q", sent, request, meant)
			}
			meant = meant[i+1:]
		}
	})
}

// pieces are what requests are made of; a byte from 0x80 on stands for one of them, so that
// the fuzzer finds combinations.
var pieces = []string{
	"GET /a HTTP/1.1\r\n", "POST /b HTTP/1.1\r\n", "HEAD /c HTTP/1.1\r\n", "PUT /d HTTP/1.0\r\n",
	"GET http://" + appHost + "/e HTTP/1.1\r\n", "OPTIONS * HTTP/1.1\r\n", "DELETE /f HTTP/1.1\n",
	"Host: " + appHost + "\r\n", "Host: " + appHost + ":80\r\n", "Host:\r\n", "Host : x\r\n", "hOST: " + appHost + "\n",
	"Content-Length: 0\r\n", "Content-Length: 4\r\n", "content-length: 04\r\n", "Content-Length: 4, 4\r\n",
	"Content-Length: 29\r\n", "Content-Length : 4\r\n", "Content-Length:\t4 \r\n", "Content-Length: 4\n",
	"Transfer-Encoding: chunked\r\n", "Transfer-Encoding:chunked\n", "Transfer-Encoding: identity\r\n",
	"Transfer-Encoding:\x0bchunked\r\n", "Transfer-Encoding: chunked, chunked\r\n", "transfer-encoding: Chunked\r\n",
	"Connection: keep-alive\r\n", "Connection: close\r\n", "Connection: content-length, x-forwarded-for\r\n",
	"Connection: Upgrade\r\nUpgrade: h2c\r\n", "Expect: 100-continue\r\n", "Trailer: X\r\n", "TE: trailers\r\n",
	"X: y\r\n", " folded\r\n", "X-Forwarded-For: 1\r\n", "\r\n", "\n", "\r", "body", "4\r\nbody\r\n",
	"4;x=y\r\nbody\r\n", "0\r\n\r\n", "0\r\nX: y\r\n\r\n", "0\n\n", "GET /g HTTP/1.1\r\nHost: " + appHost + "\r\n\r\n",
}

func expand(choices []byte) []byte {
	var sent []byte
	for _, c := range choices {
		if c < 0x80 {
			sent = append(sent, c)
			continue
		}
		sent = append(sent, pieces[int(c-0x80)%len(pieces)]...)
	}
	return sent
}

// bubble is a world with the front before an app that keeps a journal.
func bubble(t *testing.T, j *journal, f func(w *world)) {
	inWorldServed(t, setup{app: &app{handler: j}, awake: true},
		func(g *api.Gate) server { return g.Front() }, f)
}

// journal is an app that remembers the requests it was sent.
type journal struct {
	mu   sync.Mutex
	seen []string
}

func (j *journal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it was not complete
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, fmt.Sprintf("%s %q ? %q at %s: %q", r.Method, r.URL.Path,
		r.URL.RawQuery, r.Host, body))
}

func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	seen := j.seen
	j.seen = nil
	return seen
}

// sendInParts sends bytes to the gate, in two parts if split is within them, and waits.
func (w *world) sendInParts(sent []byte, split int) {
	conn, err := w.dialGate(w.t.Context(), "tcp", "")
	w.must(err)
	sendInParts(conn, sent, split)
}

// sendInParts returns when everything that may come of it has come.
func sendInParts(conn net.Conn, sent []byte, split int) {
	var both sync.WaitGroup
	both.Go(func() { io.Copy(io.Discard, conn) })
	both.Go(func() {
		split = min(split, len(sent))
		if _, err := conn.Write(sent[:split]); err != nil {
			return
		}
		time.Sleep(time.Second)
		conn.Write(sent[split:])
	})
	time.Sleep(time.Minute)
	conn.Close()
	both.Wait()
}

// throughReverseProxy does the same by way of net/http.
func (w *world) throughReverseProxy(sent []byte, split int) {
	const addr = "reference:80"
	target := &url.URL{Scheme: "http", Host: appAddr}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		Transport: &http.Transport{DialContext: w.net.DialContext, DisableKeepAlives: true},
	}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second}
	listener := w.net.listen(addr, 10)
	var running sync.WaitGroup
	running.Go(func() { server.Serve(listener) })
	conn, err := w.net.DialContext(context.Background(), "tcp", addr)
	w.must(err)
	sendInParts(conn, sent, split)
	server.Close()
	running.Wait()
}

// Whatever a target sends on a connection, the next client gets its own answer: from there
// only if the answer before was clean.
func FuzzFront_answers(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
		"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n" +
			"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nok\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n2\r\nok\r\n0\r\n\r\nx",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok",
		"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, answer []byte, head bool) {
		method := "GET"
		if head {
			method = "HEAD"
		}
		target := &liar{answer: answer}
		inWorldServed(t, setup{app: &app{handler: target}, awake: true},
			func(g *api.Gate) server { return g.Front() }, func(w *world) {
				w.get("/")
				w.client.CloseIdleConnections()
				target.lies.Store(true)
				conn, err := w.dialGate(w.t.Context(), "tcp", "")
				w.must(err)
				var got bytes.Buffer
				var asked sync.WaitGroup
				asked.Go(func() { io.Copy(&got, conn) })
				fmt.Fprintf(conn, "%s /lie HTTP/1.1\r\nHost: %s\r\n\r\n", method, appHost)
				time.Sleep(100 * time.Millisecond) // less than connections are kept
				target.lies.Store(false)
				if a := w.get("/next"); a.StatusCode != 200 || a.body != "truth" {
					t.Fatalf("after %q the next client gets %d %q", answer, a.StatusCode, a.body)
				}
				conn.Close()
				asked.Wait()
				if problem := misread(got.Bytes(), method); problem != "" {
					t.Fatalf("%q became %q: %s", answer, &got, problem)
				}
			})
	})
}

// misread says what is wrong with what a client got for one request; that it breaks off is
// not.
func misread(got []byte, method string) string {
	in := bufio.NewReader(bytes.NewReader(got))
	for {
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return ""
			}
			return err.Error()
		}
		if res.StatusCode < 200 {
			continue
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return ""
		}
		rest, _ := io.ReadAll(in)
		if len(rest) > 0 {
			return fmt.Sprintf("%q is left over", rest)
		}
		return ""
	}
}

// liar is a target that answers a request with given bytes and then goes on truthfully.
type liar struct {
	answer []byte
	lies   atomic.Bool
}

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, in, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		answer := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntruth"
		if r.Method == http.MethodHead {
			answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
		}
		if l.lies.Load() {
			answer = string(l.answer)
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
		if strings.Contains(r.URL.Path, "lie") {
			conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		}
		if r, err = http.ReadRequest(in.Reader); err != nil {
			return
		}
	}
}
