package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"doze/api"
	"doze/api/wire"
	"doze/idle"
)

func TestEvents_wake_isToldTransitionByTransition(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		events := w.follow("", "")
		defer events.body.Close()
		into[wire.Outcome](t, w.do("POST", webID.WakePath(), `{"reason":"test"}`), 202)
		first, second := events.transition(), events.transition()
		if first.From != wire.Asleep || first.To != wire.Waking || first.Cause != "command: test" {
			t.Errorf("first %+v", first)
		}
		if second.To != wire.Ready || second.Wake == nil || second.Wake.Took == 0 ||
			second.ID != webID {
			t.Errorf("second %+v", second)
		}
	})
}

func TestEvents_listThenFollow_missesNothing(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		list := into[wire.GroupList](t, w.do("GET", "/v1/groups", ""), 200)
		w.record(1, 3, webID)
		events := w.follow("", list.LastEventID)
		defer events.body.Close()
		w.record(4, 1, webID)
		for i := 1; i <= 4; i++ {
			if e := events.transition(); e.Cause != fmt.Sprint(i) {
				t.Errorf("event %d is %q", i, e.Cause)
			}
		}
	})
}

func TestEvents_reconnect_goesOnAfterTheLastEvent(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		events := w.follow("", "")
		w.record(1, 2, webID)
		events.transition()
		events.body.Close()
		w.record(3, 1, webID)
		again := w.follow("", events.lastID)
		defer again.body.Close()
		if e := again.transition(); e.Cause != "2" {
			t.Errorf("goes on with %q", e.Cause)
		}
		if e := again.transition(); e.Cause != "3" {
			t.Errorf("goes on with %q", e.Cause)
		}
	})
}

func TestEvents_connectionBreaksBeforeAnyEvent_positionIsKnown(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.record(1, 1, webID)
		events := w.follow("", "")
		for events.lastID == "" && events.lines.Scan() {
			if id, ok := strings.CutPrefix(events.lines.Text(), "id: "); ok {
				events.lastID = id
			}
		}
		events.body.Close()
		w.record(2, 1, webID)
		again := w.follow("", events.lastID)
		defer again.body.Close()
		if e := again.transition(); e.Cause != "2" {
			t.Errorf("goes on with %q", e.Cause)
		}
	})
}

func TestEvents_dozeWasRestarted_isToldAndGetsWhatThereIs(t *testing.T) {
	other := api.NewJournal(10)
	other.Record(idle.Transition{})
	for _, id := range []string{other.Position(), "nonsense", "x-18446744073709551616", "-1"} {
		inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
			w.record(1, 2, webID)
			events := w.follow("", id)
			defer events.body.Close()
			events.reset("restarted")
			for i := 1; i <= 2; i++ {
				if e := events.transition(); e.Cause != fmt.Sprint(i) {
					t.Errorf("%s: event %d is %q", id, i, e.Cause)
				}
			}
			again := w.follow("", events.lastID) // once is enough
			defer again.body.Close()
			w.record(3, 1, webID)
			again.transition()
		})
	}
}

func TestEvents_positionIsTooOld_isTold(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) { // the journal remembers 100
		position := w.journal.Position()
		w.record(1, 101, webID)
		events := w.follow("", position)
		defer events.body.Close()
		events.reset("older")
		if e := events.transition(); e.Cause != "2" {
			t.Errorf("goes on with %q", e.Cause)
		}
	})
}

func TestEvents_readerTakesNothing_isCutAndBlocksNobody(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		stuck := w.follow("", "") // its pipe has no buffer, and the transport's is small
		defer stuck.body.Close()
		quick := w.follow("", "")
		defer quick.body.Close()
		got := make(chan int)
		go func() {
			n := 0
			for range 500 {
				if kind, _, ok := quick.next(); ok && kind == wire.EventTransition {
					n++
				}
			}
			got <- n
		}()
		begun := time.Now()
		for i := range 500 {
			w.record(i, 1, webID)
			synctest.Wait()
		}
		if n := <-got; n != 500 || time.Since(begun) != 0 {
			t.Errorf("the quick reader got %d in %s", n, time.Since(begun))
		}
		into[wire.Outcome](t, w.do("POST", webID.WakePath()+"?wait=1s", ""), 200)
		time.Sleep(time.Minute)
		for {
			if _, _, ok := stuck.next(); !ok {
				break // cut: it would have gone on for ever
			}
		}
	})
}

func TestEvents_slowReader_isToldWhatItLost(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		events := w.follow("", "")
		defer events.body.Close()
		w.record(1, 1, webID)
		events.transition()
		w.record(2, 1000, webID) // the pipe takes some, the journal keeps 100
		resets := 0
		for last := ""; last != "1001"; {
			kind, data, _ := events.next()
			var event wire.Event
			switch kind {
			case wire.EventReset: // more than once, where the recording overtakes it again
				if resets++; !strings.Contains(data, "too slow") {
					t.Errorf("reset because %s", data)
				}
			case wire.EventTransition:
				if err := json.Unmarshal([]byte(data), &event); err != nil {
					t.Fatal(err)
				}
				last = event.Cause
			default:
				t.Fatalf("event %q after %q: the newest was not told", kind, last)
			}
		}
		if resets == 0 {
			t.Error("it was not told that it has lost some")
		}
	})
}

func TestEvents_filters_leaveOutTheRestAndStillMoveOn(t *testing.T) {
	other := wire.ID{Namespace: "prod", Job: "other", Group: "app"}
	for _, query := range []string{"?namespace=prod", "?job=other", "?group=db&namespace=*",
		"?state=ready", "?namespace=prod&job=other"} {
		inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
			events := w.follow(query, "")
			defer events.body.Close()
			w.record(1, 1, webID)
			wanted := idle.GroupID{Namespace: "prod", Job: "other", Group: "db"}
			w.journal.Record(idle.Transition{Group: wanted, To: idle.Ready, Cause: "wanted"})
			if e := events.transition(); e.Cause != "wanted" {
				t.Errorf("%s let %+v pass", query, e)
			}
		})
	}
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		events := w.follow("?namespace=prod", "")
		w.record(1, 150, webID) // more than the journal keeps
		time.Sleep(20 * time.Second)
		events.lines.Scan() // what a client has read when its connection breaks:
		for events.lines.Text() != ": heartbeat" && events.lines.Scan() {
		}
		events.lines.Scan()
		position := strings.TrimPrefix(events.lines.Text(), "id: ")
		events.body.Close()
		again := w.follow("?namespace=prod", position)
		defer again.body.Close()
		w.record(1, 1, other)
		again.transition() // and not a reset
	})
}

func TestEvents_quietStream_beatsEveryFifteenSeconds(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		events := w.follow("", "")
		defer events.body.Close()
		begun, beats := time.Now(), 0
		for beats < 4 && events.lines.Scan() {
			if events.lines.Text() == ": heartbeat" {
				beats++
			}
		}
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("4 heartbeats in %s", took)
		}
	})
}

func TestEvents_callerMayNotReadGroup_neverHearsOfIt(t *testing.T) {
	auth := &namespaceAuth{}
	inControlWorld(t, authBy(auth), func(t *testing.T, w *controlWorld) {
		events := w.follow("", "", "X-Nomad-Token", "reader")
		defer events.body.Close()
		w.record(1, 1, webID)
		w.record(2, 1, wire.ID{Namespace: "prod", Job: "web", Group: "app"})
		if e := events.transition(); e.Cause != "2" {
			t.Errorf("heard of %+v", e)
		}
		synctest.Wait()
		auth.down.Store(true) // nobody can tell any more: the stream ends, to go on later
		w.record(3, 1, wire.ID{Namespace: "prod", Job: "web", Group: "app"})
		if kind, data, ok := events.next(); ok {
			t.Errorf("heard of %s %s", kind, data)
		}
		auth.down.Store(false)
		again := w.follow("", events.lastID, "X-Nomad-Token", "reader")
		defer again.body.Close()
		if e := again.transition(); e.Cause != "3" {
			t.Errorf("goes on with %+v", e)
		}
	})
}

func TestEvents_tokenIsTakenAway_streamEnds(t *testing.T) {
	auth := &namespaceAuth{}
	inControlWorld(t, authBy(auth), func(t *testing.T, w *controlWorld) {
		events := w.follow("", "", "X-Nomad-Token", "reader")
		defer events.body.Close()
		begun := time.Now()
		auth.down.Store(true)
		if _, _, ok := events.next(); ok || time.Since(begun) > 15*time.Second {
			t.Errorf("still open after %s", time.Since(begun))
		}
	})
}

func TestEvents_tooManyStreams_are503(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		var open []*eventReader
		for range 256 {
			open = append(open, w.follow("", ""))
		}
		p := into[wire.Problem](t, w.do("GET", "/v1/events", ""), 503)
		if p.Type != wire.ProblemBusy {
			t.Errorf("answered %+v", p)
		}
		for _, e := range open {
			e.body.Close()
		}
		synctest.Wait()
		w.follow("", "").body.Close()
	})
}

func TestEvents_head_answersWithoutStream(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		if a := w.do("HEAD", "/v1/events", ""); a.status != 200 || a.text != "" {
			t.Errorf("answered %d %q", a.status, a.text)
		}
	})
}

func TestJournal_closed_endsStreamsAndLetsServerStop(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		events := w.follow("", "")
		defer events.body.Close()
		w.journal.Close()
		w.journal.Close()
		if _, _, ok := events.next(); ok {
			t.Error("still open")
		}
		w.record(1, 1, webID) // still taken
	})
}
