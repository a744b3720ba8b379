package api_test

import (
	"strings"
	"testing"
	"time"

	"doze/api"
	"doze/idle"
)

func TestJournal_positions_growWithinAnEpochOfTheirOwn(t *testing.T) {
	one, two := api.NewJournal(4), api.NewJournal(0)
	if one.Position() == two.Position() {
		t.Errorf("two journals begin at %q", one.Position())
	}
	epoch, _, _ := strings.Cut(one.Position(), "-")
	for range 10 {
		one.Record(idle.Transition{})
		two.Record(idle.Transition{})
	}
	if want := epoch + "-10"; one.Position() != want {
		t.Errorf("position %q, not %q", one.Position(), want)
	}
}

func TestJournal_wakeOfATransition_isCopied(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		events := w.follow("", "")
		defer events.body.Close()
		wake := &idle.Wake{Generation: 1, Started: time.Now()}
		w.journal.Record(idle.Transition{Wake: wake})
		wake.Generation = 2
		if e := events.transition(); e.Wake.Generation != 1 {
			t.Errorf("generation %d", e.Wake.Generation)
		}
	})
}

// BenchmarkJournal_record is what one transition costs the loop.
func BenchmarkJournal_record(b *testing.B) {
	j := api.NewJournal(4096)
	b.ReportAllocs()
	for b.Loop() {
		j.Record(idle.Transition{Cause: "request"})
	}
}
