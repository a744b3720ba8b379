package shepherd

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Ten events are all that Nomad keeps of a task: sleeps and wakes must not push the rest out.
func TestJournal_ordinaryEvents_areToldSparsely(t *testing.T) {
	j, now := newJournal(), time.Unix(0, 0)
	for i := range 10 {
		at := now.Add(time.Duration(i) * time.Second)
		j.add(at, Event{Kind: EventFrozen})
		j.add(at, Event{Kind: EventFailed, Message: "for one reason"})
		j.add(at, Event{Kind: EventExited})
	}
	j.add(now.Add(time.Minute), Event{Kind: EventFrozen})
	count, suppressed := map[EventKind]int{}, 0
	for range 13 {
		e, err := j.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		suppressed += e.Suppressed
		count[e.Kind]++
	}
	if count[EventFrozen] != 2 || count[EventFailed] != 1 || count[EventExited] != 10 ||
		suppressed != 9 {
		t.Fatal(count, suppressed)
	}
}

// A disk that is full, and is not, and is again.
func TestJournal_logThatComesAndGoes_isToldRarely(t *testing.T) {
	j := newJournal()
	for i := range 20 {
		at := time.Unix(int64(i), 0)
		j.add(at, Event{Kind: EventLog, Message: "cannot be written"})
		j.add(at, Event{Kind: EventLog, Message: "can be written"})
	}
	if len(j.events) != 2 {
		t.Fatal(j.events)
	}
}

// The plugin was killed, and the next one asks before the shepherd has seen the end of it.
func TestJournal_undeliveredWhileTheNextReaderWaits_isToldHim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		j.add(time.Now(), Event{Kind: EventStarted})
		e, err := j.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var again Event
		var reader sync.WaitGroup
		reader.Go(func() { again, err = j.next(t.Context()) })
		synctest.Wait()
		j.untold(e)
		reader.Wait()
		if err != nil || again.Seq != e.Seq {
			t.Errorf("got %+v, %v", again, err)
		}
	})
}

func TestJournal_undelivered_isToldAgainAndTheOldestGo(t *testing.T) {
	j := newJournal()
	for range keepEvents + 3 {
		j.add(time.Unix(0, 0), Event{Kind: EventExited})
	}
	first, err := j.next(t.Context())
	if err != nil || first.Seq != 4 {
		t.Fatal(first, err)
	}
	j.untold(first)
	if again, err := j.next(t.Context()); err != nil || again.Seq != first.Seq {
		t.Fatal(again, err)
	}
	for range keepEvents - 1 {
		if _, err := j.next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := j.next(ctx); !errors.Is(err, why) {
		t.Fatal(err)
	}
}
