package api

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// closeWriter is a connection that can be closed in one direction.
type closeWriter interface{ CloseWrite() error }

// switchProtocols connects both sides after the target has agreed to change the protocol
// (RFC 9110, 7.8). It returns when both directions have ended.
func (up *upstream) switchProtocols(
	w http.ResponseWriter, r *http.Request, res *http.Response,
) error {
	wanted, got := upgradeWanted(r), upgradeType(res.Header)
	if wanted == "" || !strings.EqualFold(wanted, got) {
		return errProtocol("it switched to protocol %q, asked for was %q", got, wanted)
	}
	target, ok := res.Body.(io.ReadWriteCloser)
	if !ok {
		return errProtocol("its connection cannot be written to after the switch")
	}
	h := w.Header()
	copyEndToEnd(h, res.Header)
	h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{got}
	// Before the hijack, after which a Shutdown knows no more of the connection.
	gone := up.upgraded.Track(clientConn(r, target), func() { closeWrite(target) })
	defer gone()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("cannot switch protocols: %w", err)
	}
	defer client.Close()
	head := http.Response{StatusCode: res.StatusCode, ProtoMajor: 1, ProtoMinor: 1, Header: h}
	if err := errors.Join(head.Write(buffered), buffered.Flush()); err != nil {
		return nil // the client has left
	}
	splice(client, buffered.Reader, target)
	return nil
}

// clientConn is what closes the client's connection, which ends both directions; target
// where the server does not tell its connections.
func clientConn(r *http.Request, target io.Closer) io.Closer {
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		return conn
	}
	return target
}

// splice copies both ways until both directions have ended. The end of one is handed on as
// the end of one; an error ends both.
func splice(client net.Conn, early *bufio.Reader, target io.ReadWriteCloser) {
	fail := sync.OnceFunc(func() {
		client.Close()
		target.Close()
	})
	var both sync.WaitGroup
	both.Go(func() {
		_, err := io.CopyN(target, early, int64(early.Buffered()))
		if err == nil {
			_, err = io.Copy(target, client)
		}
		if err != nil || !closeWrite(target) {
			fail()
		}
	})
	both.Go(func() {
		if _, err := io.Copy(client, target); err != nil || !closeWrite(client) {
			fail()
		}
	})
	both.Wait()
	fail()
}

// closeWrite ends what is sent to c and reports whether c can do that.
func closeWrite(c any) bool {
	half, ok := c.(closeWriter)
	return ok && half.CloseWrite() == nil
}
