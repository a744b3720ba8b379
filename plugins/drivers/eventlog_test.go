package drivers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"doze/plugins/drivers"
)

// collect reads a stream until ctx ends or limit events have come; then sending fails.
func collect(ctx context.Context, e *drivers.EventLog, limit int) (messages []string, err error) {
	err = e.Events(ctx, func(ev drivers.Event) error {
		if len(messages) == limit {
			return errors.New("the agent has gone")
		}
		messages = append(messages, ev.Message)
		return nil
	})
	return messages, err
}

func TestEventLog_emittedWhileStreamed_reachesEveryStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log drivers.EventLog
		ctx, cancel := context.WithCancel(t.Context())
		var got [2][]string
		for i := range got {
			go func() { got[i], _ = collect(ctx, &log, 10) }()
		}
		synctest.Wait()
		log.Emit(drivers.Event{Message: "a"})
		log.Emit(drivers.Event{Message: "b"})
		synctest.Wait()
		cancel()
		synctest.Wait()
		for i := range got {
			if !slices.Equal(got[i], []string{"a", "b"}) {
				t.Errorf("stream %d got %v", i, got[i])
			}
		}
	})
}

func TestEventLog_emittedBetweenAgents_waitsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log drivers.EventLog
		for _, message := range []string{"a", "b", "c"} {
			log.Emit(drivers.Event{Message: message})
		}
		got, err := collect(t.Context(), &log, 1) // fails with the second event
		if err == nil || !slices.Equal(got, []string{"a"}) {
			t.Fatalf("the first agent got %v, %v", got, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { got, err = collect(ctx, &log, 10) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !errors.Is(err, context.Canceled) || !slices.Equal(got, []string{"b", "c"}) {
			t.Errorf("the next agent got %v, %v", got, err)
		}
	})
}

func TestEventLog_nobodyReads_keepsOnlyTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log drivers.EventLog
		for n := range 1000 {
			log.Emit(drivers.Event{Message: fmt.Sprint(n)})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		go func() { got, _ = collect(ctx, &log, 1000) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if len(got) != 256 || got[0] != "744" || got[255] != "999" {
			t.Errorf("it kept %d events, from %v", len(got), got[:min(1, len(got))])
		}
	})
}

func TestEventLog_noTime_becomesNow(t *testing.T) {
	var log drivers.EventLog
	log.Emit(drivers.Event{})
	err := log.Events(t.Context(), func(ev drivers.Event) error {
		if ev.At.IsZero() {
			t.Error("the event has no time")
		}
		return errors.New("enough")
	})
	if err == nil {
		t.Error("a failed send ended the stream without error")
	}
}

func TestRecoverable_ofNil_isNil(t *testing.T) {
	if drivers.Recoverable(nil) != nil {
		t.Error("it is an error")
	}
}

func TestEventLog_settle_waitsUntilAllIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log drivers.EventLog
		log.Settle(t.Context()) // nobody streams: nothing to wait for
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sent, goOn := 0, make(chan struct{})
		go func() {
			_ = log.Events(ctx, func(drivers.Event) error {
				<-goOn
				sent++
				return nil
			})
		}()
		synctest.Wait()
		log.Settle(t.Context()) // nothing was emitted
		log.Emit(drivers.Event{Message: "a"})
		log.Emit(drivers.Event{Message: "b"})
		settled := false
		go func() { log.Settle(t.Context()); settled = true }()
		synctest.Wait()
		goOn <- struct{}{}
		synctest.Wait()
		if settled {
			t.Fatal("settled with an event to send")
		}
		goOn <- struct{}{}
		synctest.Wait()
		if !settled || sent != 2 {
			t.Fatalf("%d events sent, settled: %v", sent, settled)
		}
	})
}

func TestEventLog_settle_goesOnWhenNobodyTakesAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log drivers.EventLog
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			_ = log.Events(ctx, func(drivers.Event) error { <-ctx.Done(); return ctx.Err() })
		}()
		synctest.Wait()
		log.Emit(drivers.Event{Message: "a"})
		synctest.Wait()
		patient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		log.Settle(patient)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it waited for %s", took)
		}
		settled := false
		go func() { log.Settle(t.Context()); settled = true }()
		synctest.Wait()
		leave() // the stream breaks, and what it has not sent waits for the next
		synctest.Wait()
		if !settled {
			t.Error("it waits for a stream that is gone")
		}
	})
}
