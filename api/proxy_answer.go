package api

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// copySize is how much of a body is moved at once.
const copySize = 32 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copySize]byte) }}

// copyAnswer sends the target's answer to the client, as it comes.
func copyAnswer(w http.ResponseWriter, r *http.Request, res *http.Response) {
	h := w.Header()
	copyEndToEnd(h, res.Header)
	if res.StatusCode == http.StatusNoContent {
		h.Del("Content-Length") // RFC 9110, 8.6
	}
	removeForbidden(res.Trailer)
	announced := slices.Sorted(maps.Keys(res.Trailer))
	if len(announced) > 0 {
		h["Trailer"] = []string{strings.Join(announced, ", ")}
	}
	w.WriteHeader(res.StatusCode)
	if r.Method != http.MethodHead {
		copyBody(w, res.Body, bodyLength(res))
	}
	copyTrailer(w, res.Trailer, announced)
}

// removeForbidden removes what must not be in a trailer: above all what says how long a
// message is (RFC 9110, 6.5.1).
func removeForbidden(trailer http.Header) {
	maps.DeleteFunc(trailer, func(name string, _ []string) bool {
		return !httpguts.ValidTrailerHeader(name)
	})
}

// bodyLength is the length of the body that follows, -1 if only its end will tell.
func bodyLength(res *http.Response) int64 {
	if res.StatusCode == http.StatusNotModified || res.StatusCode == http.StatusNoContent {
		return 0 // whatever Content-Length says (RFC 9110, 8.6)
	}
	return res.ContentLength
}

// copyBody moves a body of the given length (-1: until it ends) and has what arrives late
// sent at once: a client must never wait for bytes that the target has already written.
func copyBody(w http.ResponseWriter, body io.Reader, length int64) {
	buf := copyBuffers.Get().(*[copySize]byte)
	defer copyBuffers.Put(buf)
	ctl := http.NewResponseController(w)
	for length != 0 {
		part := buf[:]
		if length > 0 {
			part = part[:min(copySize, length)]
		}
		n, err := body.Read(part)
		if length > 0 {
			length -= int64(n)
		}
		if n > 0 && !put(w, part[:n]) {
			panic(http.ErrAbortHandler) // the client has left
		}
		if err == io.EOF && length <= 0 {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the target broke off
		}
		if length != 0 && ctl.Flush() != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

func put(w io.Writer, p []byte) bool {
	_, err := w.Write(p)
	return err == nil
}

// copyTrailer sends the trailers, those too that the target had not announced.
func copyTrailer(w http.ResponseWriter, trailer http.Header, announced []string) {
	removeForbidden(trailer) // of those that had not been announced
	if len(trailer) == 0 {
		return
	}
	// A flush makes the answer chunked, without which there is no place for trailers.
	// If it fails the client has left, which the server will find out.
	_ = http.NewResponseController(w).Flush()
	for name, values := range trailer {
		if !slices.Contains(announced, name) {
			name = http.TrailerPrefix + name
		}
		w.Header()[name] = values
	}
}
