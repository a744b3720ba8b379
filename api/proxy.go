package api

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
)

// serve sends the request to the target and its answer to w. An error means that nothing
// final has been written to w; healthgate.ErrDial in its chain, that nothing has been sent
// to the target either. An answer that breaks off panics with http.ErrAbortHandler, which
// has the server cut the client's connection or stream, so that no one takes it for whole.
//
// Plain exchanges take the short way over h1; whatever has a body, asks for 100 Continue,
// upgrades or speaks gRPC goes through a http.Transport.
func (up *upstream) serve(w http.ResponseWriter, r *http.Request) error {
	if isPlain(r) {
		return up.h1.serve(w, r)
	}
	return up.serveAny(w, r)
}

// isPlain reports whether nothing but a head is to be sent.
func isPlain(r *http.Request) bool {
	return (r.Body == nil || r.Body == http.NoBody) && r.ContentLength == 0 &&
		len(r.Trailer) == 0 && !hasExtraHops(r.Header)
}

// serveAny is serve by way of a http.Transport.
func (up *upstream) serveAny(w http.ResponseWriter, r *http.Request) error {
	transport := up.any
	if isGRPC(r) {
		transport = up.grpc
	}
	body, duplex := newSentBody(r), false
	res, err := transport.RoundTrip(up.outgoing(w, r, body, func() {
		if hasBodyOnConn(r) && !duplex {
			duplex = true
			// A target may answer before it has read the body. Refused only by writers
			// that are full duplex anyway.
			_ = http.NewResponseController(w).EnableFullDuplex()
		}
	}))
	if duplex && !body.ended.Load() {
		// A full duplex server does not see to the rest of the body before the answer
		// goes out, so there is to be no next request (RFC 9112, 9.3).
		w.Header().Set("Connection", "close")
	}
	if err != nil && body.broken.Load() {
		return fmt.Errorf("%w: %w", errBadBody, err)
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusSwitchingProtocols:
		return up.switchProtocols(w, r, res)
	case res.StatusCode < 200:
		return errStatus(res)
	}
	copyAnswer(w, r, res)
	if !body.ended.Load() {
		readRest(w, r, body)
	}
	return nil
}

// isGRPC reports whether the request came by HTTP/2 and needs it to the end: for its
// trailers, and for reading and writing at once.
func isGRPC(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	return r.ProtoMajor == 2 && strings.HasPrefix(kind, "application/grpc")
}

// outgoing is the request as it goes to the target. Informational answers go to w. As soon
// as there is a connection to send the body on, and not before, duplex is called: until
// then the server still looks after what has not been read of it.
func (up *upstream) outgoing(
	w http.ResponseWriter, r *http.Request, body io.ReadCloser, duplex func(),
) *http.Request {
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { duplex() },
		Got1xxResponse: func(status int, h textproto.MIMEHeader) error {
			passInformation(w, r, status, http.Header(h))
			return nil
		},
	})
	out := r.WithContext(ctx)
	out.URL = &url.URL{Scheme: "http", Host: up.addr, Path: r.URL.Path, RawPath: r.URL.RawPath,
		RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery}
	out.RequestURI = ""
	out.Header = forwardedHeader(r)
	// A target that ignores such a body takes it for the next request, whose answer would
	// be somebody else's (RFC 9110, 9.3.1): the connection is not used again.
	out.Close = r.ContentLength != 0 && isSafe(r.Method)
	out.Body = body
	if r.Body == nil || r.Body == http.NoBody {
		out.Body = nil
	}
	return out
}

// passInformation hands a 1xx answer on, where the client knows such (RFC 9110, 15.2); 100
// is the transport's own.
func passInformation(w http.ResponseWriter, r *http.Request, status int, h http.Header) {
	if status == http.StatusContinue || !r.ProtoAtLeast(1, 1) {
		return
	}
	kept := w.Header().Clone()
	copyEndToEnd(w.Header(), h)
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	clear(w.Header())
	copyHeader(w.Header(), kept)
}

func errStatus(res *http.Response) error {
	return errProtocol("its status is %d", res.StatusCode)
}

// errProtocol says that the target answered what no HTTP/1.1 server may.
func errProtocol(format string, args ...any) error {
	return fmt.Errorf("cannot understand the target: "+format, args...)
}
