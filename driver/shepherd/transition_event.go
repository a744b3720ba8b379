package shepherd

import (
	"strings"
	"syscall"
	"time"

	"doze/idle"
)

// onTransition writes down what an operator wants to know.
func (t *task) onTransition(tr idle.Transition) {
	if e := t.eventOf(tr); e.Kind != "" {
		t.journal.add(tr.At, e)
	}
	if tr.To == idle.Ready && tr.From != idle.Draining && tr.Err == "" {
		t.readyOnce.Store(true)
	}
	t.lean.soon()
	t.change(func() {})
}

// eventOf is a transition in an operator's words; the zero Event where there is no need.
func (t *task) eventOf(tr idle.Transition) Event {
	e := Event{Details: map[string]string{"cause": tr.Cause}}
	switch {
	case tr.From == idle.Sleeping && t.putOff.Load():
		// no failure
	case tr.Err != "":
		e.Kind, e.Message = EventFailed, t.failure(tr)
	case tr.To == idle.Ready && tr.From != idle.Draining && tr.Wake != nil:
		e.Details["cause"] = tr.Wake.Cause
		took := tr.Wake.Ready.Sub(tr.Wake.Started).Round(10 * time.Microsecond)
		e.Kind, e.Message = EventReady, "ready after "+took.String()+": "+tr.Wake.Cause
	case tr.To == idle.Ready && tr.From != idle.Draining && t.spec.Listen != "":
		e.Kind, e.Message = EventReady, "ready: it has passed its probe"
	case tr.To == idle.Asleep && tr.Depth == idle.Freeze:
		e.Kind, e.Message = EventFrozen, "frozen: "+tr.Cause
	case tr.To == idle.Asleep && tr.Depth == idle.Park:
		e.Kind, e.Message = EventParked, "parked: "+tr.Cause
	}
	return e
}

// failure says what has failed, and where the application is if it is not where it was
// looked for.
func (t *task) failure(tr idle.Transition) string {
	words := tr.Err
	if !strings.HasPrefix(words, tr.Cause) {
		words = tr.Cause + ": " + words
	}
	if strings.Contains(words, syscall.ECONNREFUSED.Error()) {
		if where := t.whereabouts(); where != "" {
			words += "; " + where
		}
	}
	return words
}
