package healthgate

import "context"

// tcpProbe asks whether somebody accepts connections. The kernel accepts for a process that
// is frozen or busy too, so a passed tcp probe proves a listener, not an answer.
type tcpProbe struct{ dial DialFunc }

func (p *tcpProbe) Probe(ctx context.Context, addr string) error {
	conn, err := dial(ctx, p.dial, addr)
	if err != nil {
		return err
	}
	_ = conn.Close() // nothing was sent, so nothing can be lost
	return nil
}
