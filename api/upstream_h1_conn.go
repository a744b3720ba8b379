package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"
)

const (
	h1ReadSize = 4 << 10
	// maxHead bounds the head of an answer, its 1xx heads included.
	maxHead = 1 << 20
)

var errLongHead = errors.New("the answer's head is too long")

// h1Conn is one connection to a target. One exchange has it at a time.
type h1Conn struct {
	net.Conn
	in        *bufio.Reader
	out       []byte
	headLeft  int // what may still be read of a head; below 0: a body is being read
	used      bool
	idleSince time.Time
	raw       syscall.RawConn              // nil: not a socket
	step      func(fd uintptr) (done bool) // sendStep, bound once
	sent      bool
	sendErr   error
}

func newH1Conn(conn net.Conn) *h1Conn {
	c := &h1Conn{Conn: conn}
	c.in = bufio.NewReaderSize(headLimit{c}, h1ReadSize)
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			c.raw, c.step = raw, c.sendStep
		}
	}
	return c
}

// headLimit is the connection's reading side.
type headLimit struct{ c *h1Conn }

func (l headLimit) Read(p []byte) (int, error) {
	if l.c.headLeft == 0 {
		return 0, errLongHead
	}
	if l.c.headLeft > 0 {
		p = p[:min(len(p), l.c.headLeft)]
	}
	n, err := l.c.Conn.Read(p)
	if l.c.headLeft > 0 {
		l.c.headLeft -= n
	}
	return n, err
}

// exchange sends the request and its answer on, and reports whether the connection can be
// kept. Otherwise it has closed it. See upstream.serve for what an error means.
func (c *h1Conn) exchange(w http.ResponseWriter, r *http.Request) (keep bool, err error) {
	stop := context.AfterFunc(r.Context(), c.cut)
	defer func() { // runs when the answer breaks off, too
		if !stop() || !keep {
			keep = false
			c.Close()
		}
	}()
	c.out = appendHead(c.out[:0], r)
	if err := c.ask(); err != nil {
		return false, err
	}
	var head simpleHead
	if c.readSimple(&head, r.Method == http.MethodHead) {
		c.headLeft = -1
		return c.sendSimple(w, &head), nil
	}
	return c.sendAny(w, r)
}

// ask sends the head in c.out and waits for the answer to begin.
func (c *h1Conn) ask() error {
	if err := c.send(); err != nil {
		return err
	}
	c.headLeft = maxHead
	if _, err := c.in.Peek(1); err != nil {
		return fmt.Errorf("%w: %w", errUnanswered, err)
	}
	return nil
}

// send writes c.out. On a socket it then waits for input: that wait begins before the
// request is sent, so that no answer is missed, and saves a read that could only fail.
func (c *h1Conn) send() error {
	c.sent, c.sendErr = false, nil
	if c.raw == nil {
		c.write()
	} else if err := c.raw.Read(c.step); err != nil && c.sendErr == nil {
		c.sendErr = fmt.Errorf("%w: %w", errUnanswered, err)
	}
	return c.sendErr
}

// sendStep is called before the wait and after it. What a kept connection has to read
// before it is used can only be its end or nonsense.
func (c *h1Conn) sendStep(fd uintptr) (done bool) {
	if c.sent {
		return true
	}
	if c.used && hasInput(int(fd)) {
		c.sendErr = errStale
		return true
	}
	c.write()
	return c.sendErr != nil
}

func (c *h1Conn) write() {
	c.sent = true
	if _, err := c.Write(c.out); err != nil {
		c.sendErr = fmt.Errorf("%w: %w", errUnanswered, err)
	}
}

// cut ends an exchange whose client has left.
func (c *h1Conn) cut() { c.Conn.Close() }

// sendAny sends any answer on.
func (c *h1Conn) sendAny(w http.ResponseWriter, r *http.Request) (keep bool, err error) {
	for {
		res, err := http.ReadResponse(c.in, r)
		if err != nil {
			return false, fmt.Errorf("cannot read the answer: %w", err)
		}
		switch {
		case res.StatusCode == http.StatusSwitchingProtocols:
			return false, errProtocol("it switched protocols unasked")
		case res.StatusCode < 100:
			return false, errStatus(res)
		case res.StatusCode < 200:
			passInformation(w, r, res.StatusCode, res.Header)
			continue
		}
		c.headLeft = -1
		copyAnswer(w, r, res)
		return !res.Close && c.in.Buffered() == 0, nil
	}
}

// sendSimple sends an answer on whose head is all in the buffer.
func (c *h1Conn) sendSimple(w http.ResponseWriter, head *simpleHead) (keep bool) {
	head.copyTo(w.Header())
	// The head has just been seen in the buffer, so this cannot fail.
	_, _ = c.in.Discard(head.size)
	w.WriteHeader(head.status)
	if head.length > int64(c.in.Buffered()) {
		copyBody(w, c.in, head.length)
		return head.keep && c.in.Buffered() == 0
	}
	n := int(head.length)
	if body, _ := c.in.Peek(n); n > 0 {
		if _, err := w.Write(body); err != nil {
			panic(http.ErrAbortHandler) // the client has left
		}
	}
	_, _ = c.in.Discard(n)
	return head.keep && c.in.Buffered() == 0
}
