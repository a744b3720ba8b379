package shepherd

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"doze/driver/shepherd/relay"
	"doze/healthgate"
	"doze/idle"
)

const (
	// unclearAfter is how long a client may take to say whether it asks for a shielded path.
	unclearAfter = time.Second
	// shieldedWithin bounds a shielded request that is passed on.
	shieldedWithin = 10 * time.Second
)

// peek reads the first bytes of a connection, until it is clear what they are. Nothing but
// an end at once is Incomplete.
func (p *relayPort) peek(conn *net.TCPConn) ([]byte, relay.Class) {
	_ = conn.SetReadDeadline(time.Now().Add(unclearAfter)) // a closed one fails to be read
	defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	head := make([]byte, 0, 512)
	for {
		if len(head) == cap(head) {
			head = append(head, 0)[:len(head)]
		}
		n, err := conn.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		class := relay.Incomplete
		if n > 0 {
			class = p.shield.Classify(head)
		}
		switch {
		case class != relay.Incomplete:
			return head, class
		case err != nil && len(head) == 0 && !errors.Is(err, os.ErrDeadlineExceeded):
			return nil, relay.Incomplete
		case err != nil:
			return head, relay.Other
		}
	}
}

// settle lets the application finish the shielded requests that it has been passed. The gate
// is shut: there will be no more. Before a freeze, what comes over open connections waits from
// now on; an application that is about to end gets it.
func (p *relayPort) settle(ctx context.Context, depth idle.Depth) {
	if depth == idle.Freeze {
		p.passing.Rest()
	}
	for range 100 {
		if !p.busy() || !pause(ctx, 2*time.Millisecond) {
			return
		}
	}
}

// answerShielded answers a request for a shielded path: the application itself where it is
// awake, uncounted, else the shepherd.
func (p *relayPort) answerShielded(conn *net.TCPConn, request []byte) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(shieldedWithin)) // a closed one fails below
	passed, well := p.passShielded(conn, request)
	if passed {
		return
	}
	if _, err := conn.Write(relay.Answer(well)); err == nil {
		linger(conn)
	}
}

// passShielded passes a request on to the application where it is awake. Only meanwhile does
// somebody wait for it.
func (p *relayPort) passShielded(conn *net.TCPConn, request []byte) (passed, well bool) {
	p.shielded.Add(1) // before the look: a freeze after it sees that somebody waits
	defer p.shielded.Add(-1)
	addr, well := p.lives.answers()
	if addr == "" {
		return false, well
	}
	ctx, cancel := context.WithTimeout(context.Background(), shieldedWithin)
	defer cancel()
	app, err := dialApp(ctx, "tcp", addr)
	if err != nil {
		return false, healthgate.IsShortage(err) // nothing was found out about the application
	}
	over := make(chan struct{})
	pair := relay.Pair{Client: conn, App: app.(*net.TCPConn), Head: relay.Once(request),
		Over: func() { close(over) }}
	if err := p.health.Join(&pair); err != nil {
		p.log.Info("shielded request refused", "from", conn.RemoteAddr(), "err", err)
		return true, true
	}
	defer time.AfterFunc(shieldedWithin, pair.Close).Stop()
	<-over
	return true, true
}

// linger lets the client have the answer before the connection goes: closing one with
// unread bytes resets it.
func linger(conn *net.TCPConn) {
	if conn.CloseWrite() != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	var rest [512]byte
	for {
		if _, err := conn.Read(rest[:]); err != nil {
			return
		}
	}
}
