package api

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"testing"
)

// bytesConn is a connection from which only some bytes come.
type bytesConn struct {
	net.Conn
	*bytes.Reader
}

func (c bytesConn) Read(p []byte) (int, error) { return c.Reader.Read(p) }

// What is taken for a simple answer, net/http must understand in the same way.
func FuzzSimpleHead(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 \n0\r\n\r\n",
		"HTTP/1.1 404\r\ncontent-length: 0\r\nConnection: close\r\nX: 1\r\nX: 2\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 304 \r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\tfolded\r\n\r\nok",
		"HTTP/1.1 101 Switching Protocols\r\nContent-Length: 2\r\n\r\nok",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, answer []byte, noBody bool) {
		c := newH1Conn(bytesConn{Reader: bytes.NewReader(answer)})
		c.headLeft = maxHead
		var head simpleHead
		if !c.readSimple(&head, noBody) {
			return
		}
		r := &http.Request{Method: "GET"}
		if noBody {
			r.Method = "HEAD"
		}
		res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), r)
		if err != nil {
			t.Fatalf("net/http: %v", err)
		}
		if res.StatusCode != head.status || len(res.TransferEncoding) > 0 || res.Close == head.keep ||
			!noBody && bodyLength(res) != head.length {
			t.Fatalf("%q: %+v is not %+v", answer, head, res)
		}
		got := http.Header{}
		head.copyTo(got)
		for name := range got {
			if len(got[name]) != len(res.Header[name]) || got.Get(name) != res.Header.Get(name) {
				t.Fatalf("%q: %s is %q, want %q", answer, name, got[name], res.Header[name])
			}
		}
	})
}
