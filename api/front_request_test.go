package api

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What the front takes for plain, net/http must understand in the same way: otherwise one
// could say one thing to the gate and another to the target.
func FuzzPlainRequest(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /x?y=%20 HTTP/1.1\r\nhost: a:80\r\nConnection: keep-alive\r\nX-Forwarded-For: 1\r\n\r\nrest",
		"DELETE //a/../b HTTP/1.1\r\nHost: a\r\nX: \t y \r\nX:z\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
		"POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 3\r\n\r\nabcrest",
		"PUT / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n",
		"GET / HTTP/1.1\nHost: a\n\n\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		var q plainRequest
		if !q.parse(head) {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
		if err != nil {
			t.Fatalf("net/http: %v", err)
		}
		if r.Method != q.method || r.RequestURI != q.uri || r.URL.Path != q.path || r.Host != q.host {
			t.Fatalf("%+v is not %v %v %v %v", q, r.Method, r.RequestURI, r.URL.Path, r.Host)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != string(q.body) || r.Close || len(r.TransferEncoding) > 0 {
			t.Fatalf("%q is not plain: %+v, %v", head, r, err)
		}
		sameFields(t, q, r.Header)
	})
}

// sameFields wants what goes to the target to be what net/http has read.
func sameFields(t *testing.T, q plainRequest, want http.Header) {
	t.Helper()
	sent := q.appendTo(nil, "192.0.2.7")
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
	if err != nil {
		t.Fatalf("what is sent, %q: %v", sent, err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Host != q.host || string(body) != string(q.body) {
		t.Fatalf("%+v became %q, %v", q, sent, err)
	}
	if want["Content-Length"] == nil {
		delete(r.Header, "Content-Length")
	}
	got := forwardedHeader(&http.Request{Header: want, Host: q.host, RemoteAddr: "192.0.2.7:1",
		URL: &url.URL{}})
	if agent := got["User-Agent"]; len(agent) == 1 && agent[0] == "" && want["User-Agent"] == nil {
		delete(got, "User-Agent")
	}
	if len(got) != len(r.Header) {
		t.Fatalf("%v is sent, want %v", r.Header, got)
	}
	for name, values := range got {
		if strings.Join(values, ", ") != strings.Join(r.Header[name], ", ") {
			t.Fatalf("%s: %q is sent, want %q", name, r.Header[name], values)
		}
	}
}
