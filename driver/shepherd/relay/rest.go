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

// attend sees to the client of an application that sleeps.
func (l *loop) attend(p *Pair) {
	if p.client.holds() && !p.waking {
		l.rouse(p)
	} else {
		l.watch(&p.client)
	}
}

// farewell reports whether all that e, a client, says is that it goes, to an application which
// has said so before: nobody is left who would have something of being woken.
func (e *end) farewell() bool { return e.peer.ended && e.hungUp() }

// rouse has the application woken.
func (l *loop) rouse(p *Pair) {
	p.waking = true
	l.watch(&p.client)
	l.watch(&p.app)
	go func() { // lives until the wake is over, for which Over waits
		err := p.Woken()
		l.visit(func() {
			p.waking = false
			switch {
			case p.closed:
				l.settle(p)
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
