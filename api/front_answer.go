package api

import (
	"net/http"
	"strconv"
	"time"
)

// sendSimple sends a simple answer on; see h1Conn.sendSimple. A small one goes out in one
// piece.
func (c *frontConn) sendSimple(h *h1Conn, head *simpleHead) (keep bool) {
	c.out = c.appendHead(c.out[:0], head)
	// The head has just been seen in the buffer, so this cannot fail.
	_, _ = h.in.Discard(head.size)
	n := int(min(head.length, int64(h.in.Buffered())))
	body, _ := h.in.Peek(n)
	c.out = append(c.out, body...)
	_, _ = h.in.Discard(n)
	c.send(c.out)
	if left := head.length - int64(n); left > 0 {
		c.sendRest(h, left)
	}
	return head.keep && h.in.Buffered() == 0
}

// sendRest moves the rest of a long body.
func (c *frontConn) sendRest(h *h1Conn, left int64) {
	buf := copyBuffers.Get().(*[copySize]byte)
	defer copyBuffers.Put(buf)
	for left > 0 {
		n, err := h.in.Read(buf[:min(copySize, left)])
		if err != nil {
			panic(http.ErrAbortHandler) // the target broke off
		}
		c.send(buf[:n])
		left -= int64(n)
	}
}

// send writes to the client, or has the exchange end.
func (c *frontConn) send(p []byte) {
	if _, err := c.Write(p); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// appendHead appends the head as it goes to the client.
func (c *frontConn) appendHead(b []byte, h *simpleHead) []byte {
	b = appendStatus(b, h.status)
	dated := false
	for _, f := range h.fields[:h.count] {
		dated = dated || f.name == "Date"
		b = appendField(b, f.name, f.value)
	}
	if !dated {
		b = appendDate(b)
	}
	b = c.appendClose(b)
	return append(b, '\r', '\n')
}

// appendClose tells the client of a shutdown not to send any more (RFC 9112, 9.6).
func (c *frontConn) appendClose(b []byte) []byte {
	if c.front.isClosing() {
		return appendField(b, "Connection", "close")
	}
	return b
}

func appendStatus(b []byte, status int) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(status)...)
	return append(b, '\r', '\n')
}

// appendDate says when the answer was passed on, where the target did not say when it was
// made (RFC 9110, 6.6.1).
func appendDate(b []byte) []byte {
	b = append(b, "Date: "...)
	b = time.Now().UTC().AppendFormat(b, http.TimeFormat)
	return append(b, '\r', '\n')
}
