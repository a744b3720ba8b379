package relay

// rest has the application woken for what comes, and for what its clients have sent already
// and it has not taken. Those who hung up before are no reason to.
func (l *loop) rest() {
	begins := !l.resting
	l.resting = true
	for _, e := range l.ends {
		switch {
		case e != &e.pair.client:
		case begins && e.reads() && e.hungUp():
			l.pump(e)
		default:
			l.attend(e.pair)
		}
	}
}

// attend sees to the client of an application that sleeps. One that has hung up may be parked:
// it is not woken for what is on its way.
func (l *loop) attend(p *Pair) {
	if p.client.holds() && !p.waking && !p.app.ended {
		l.rouse(p)
	} else {
		l.watch(&p.client)
	}
}

// rouse has the application woken.
func (l *loop) rouse(p *Pair) {
	if p.app.ended { // it was parked: nobody is there to be woken for this connection
		l.cut(p)
		return
	}
	p.waking = true
	l.watch(&p.client)
	l.watch(&p.app)
	go func() { // lives until the wake is over, for which Over waits
		err := p.Woken()
		l.visit(func() {
			p.waking = false
			switch {
			case p.closed:
				l.over = append(l.over, p)
			case !l.resting:
				l.pump(&p.client)
			case err != nil:
				l.cut(p)
			default: // it sleeps again already
				l.attend(p)
			}
		})
	}()
}
