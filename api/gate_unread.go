package api

import (
	"io"
	"net/http"
	"time"
)

const (
	// restWait is how long a client that has its answer may take for the rest of its body.
	restWait = time.Second
	// restSize is how much of it is read, as much as net/http reads by itself elsewhere.
	restSize = 256 << 10
)

// readRest lets the client of an answered request finish a small body. It is for clients
// that asked for the connection to be closed: there net/http reads nothing more, and what
// TCP does to a connection that is closed with something unread is to reset it, which may
// take the answer with it (RFC 9112, 9.6). Elsewhere net/http reads the rest itself. A body
// that the client waits to be asked for (Expect) is never asked for.
func readRest(w http.ResponseWriter, r *http.Request, body io.Reader) {
	if !r.Close || !hasBodyOnConn(r) || r.Header["Expect"] != nil {
		return
	}
	ctl := http.NewResponseController(w)
	if ctl.Flush() != nil || ctl.SetReadDeadline(time.Now().Add(restWait)) != nil {
		return // the client has left
	}
	// Neither the end nor an error matters: the connection is closed after this.
	_, _ = io.CopyN(io.Discard, body, restSize)
}

// hasBodyOnConn reports whether the request has a body that is read from the connection
// that its answer goes to; HTTP/2 keeps the two apart.
func hasBodyOnConn(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.Body != nil && r.Body != http.NoBody
}
