package api

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// errBadBody: the client's body could not be read to its end, so the target is not to blame.
var errBadBody = errors.New("the request's body broke off")

// sentBody is a request's body on its way to the target. Closing it does nothing: a
// transport that could not connect closes what the next attempt needs, and the server
// closes the real one when the request has been served. A transport may go on reading it
// when the answer has come.
type sentBody struct {
	io.Reader
	trailer http.Header   // the request's, complete at the end of the body
	turn    chan struct{} // held by who reads
	ended   atomic.Bool   // read to its end
	broken  atomic.Bool
}

func newSentBody(r *http.Request) *sentBody {
	return &sentBody{Reader: r.Body, trailer: r.Trailer, turn: make(chan struct{}, 1)}
}

func (b *sentBody) Read(p []byte) (int, error) {
	b.turn <- struct{}{} // for as long as another read takes, which the connection bounds
	defer func() { <-b.turn }()
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		b.broken.Store(true)
	}
	if err == io.EOF {
		removeForbidden(b.trailer)
		b.ended.Store(true)
	}
	return n, err
}

// Close does nothing.
func (b *sentBody) Close() error { return nil }
