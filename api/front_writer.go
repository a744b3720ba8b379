package api

import (
	"net/http"
	"strconv"
	"strings"
)

// frontWriter is a http.ResponseWriter on a front's connection, for answers that are not
// simple. It is its caller's to finish.
type frontWriter struct {
	c       *frontConn
	header  http.Header
	began   bool
	chunked bool
	noBody  bool
}

func newFrontWriter(c *frontConn) *frontWriter {
	c.out = c.out[:0]
	return &frontWriter{c: c, header: http.Header{}}
}

func (w *frontWriter) Header() http.Header { return w.header }

// WriteHeader sends the head, at once if it is an informational one.
func (w *frontWriter) WriteHeader(status int) {
	if w.began {
		return
	}
	w.c.out = appendStatus(w.c.out, status)
	if status >= 200 {
		w.began = true
		w.noBody = w.c.req.isHEAD || status == http.StatusNoContent ||
			status == http.StatusNotModified
		w.chunked = !w.noBody && w.header["Content-Length"] == nil
		if w.chunked {
			w.c.out = appendField(w.c.out, "Transfer-Encoding", "chunked")
		}
		if w.header["Date"] == nil {
			w.c.out = appendDate(w.c.out)
		}
		w.c.out = w.c.appendClose(w.c.out)
	}
	w.appendFields(w.header)
	w.c.out = append(w.c.out, '\r', '\n')
	if status < 200 {
		_ = w.FlushError() // the final answer will fail as well
	}
}

// appendFields appends what is valid; what a target made up is left out, as net/http does.
func (w *frontWriter) appendFields(h http.Header) {
	for name, values := range h {
		if !isToken(name) || strings.HasPrefix(name, http.TrailerPrefix) {
			continue
		}
		for _, value := range values {
			if isFieldValue(value) {
				w.c.out = appendField(w.c.out, name, value)
			}
		}
	}
}

// Write sends a part of the body, a larger one at once.
func (w *frontWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.noBody || len(p) == 0 {
		return len(p), nil
	}
	if w.chunked {
		w.c.out = strconv.AppendInt(w.c.out, int64(len(p)), 16)
		w.c.out = append(w.c.out, '\r', '\n')
	}
	w.c.out = append(w.c.out, p...)
	if w.chunked {
		w.c.out = append(w.c.out, '\r', '\n')
	}
	if len(w.c.out) < frontBuffer {
		return len(p), nil
	}
	return len(p), w.FlushError()
}

// FlushError sends what has been written; http.ResponseController calls it.
func (w *frontWriter) FlushError() error {
	_, err := w.c.Write(w.c.out)
	w.c.out = w.c.out[:0]
	return err
}

// finish ends the answer, with its trailers if there is room for them.
func (w *frontWriter) finish() error {
	w.WriteHeader(http.StatusOK)
	if w.chunked {
		w.c.out = append(w.c.out, "0\r\n"...)
		w.appendFields(w.trailer())
		w.c.out = append(w.c.out, '\r', '\n')
	}
	return w.FlushError()
}

// trailer collects what copyTrailer has left in the header.
func (w *frontWriter) trailer() http.Header {
	t := http.Header{}
	for name := range strings.SplitSeq(w.header.Get("Trailer"), ", ") {
		if values := w.header[name]; values != nil {
			t[name] = values
		}
	}
	for name, values := range w.header {
		if name, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			t[name] = values
		}
	}
	return t
}
