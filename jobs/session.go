package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

// maxStreams bounds the event streams of a token that may not read every namespace: Nomad
// allows 100 connections from one address (http_max_conns_per_client), and 32 wakes at once
// may take two each.
const maxStreams = 24

// namespacesRetry is the pause after the namespaces could not be listed.
const namespacesRetry = 30 * time.Second

// errNamespaces: namespaces came or went, so the subscription must be renewed: it covers
// those that existed when it was made.
var errNamespaces = errors.New("the namespaces have changed")

// follow lists and streams until ctx ends.
func (w *Watcher) follow(ctx context.Context) {
	var pause backoff
	for ctx.Err() == nil {
		began := time.Now()
		err := (&session{watcher: w, client: w.client}).run(ctx)
		if time.Since(began) > lastPause {
			pause = backoff{} // it lived
		}
		if ctx.Err() != nil || !pause.wait(ctx, w.outcome(ctx, err)) {
			return
		}
	}
}

// outcome notes how a session ended; a renewal is no trouble, and needs no pause.
func (w *Watcher) outcome(ctx context.Context, err error) (renew bool) {
	if errors.Is(err, errNamespaces) {
		w.log.Info("renewing the event stream", "reason", err)
		return true
	}
	if isRefusal(err) {
		err = fmt.Errorf("%w%s", err, w.client.tokenWords(ctx))
	}
	w.become(err)
	return false
}

// session is one subscription with its listings. It subscribes first and holds the events
// until the listing is complete, so that nothing can fall between the two, however long
// the listing takes and however few events Nomad keeps.
type session struct {
	watcher *Watcher
	client  client

	readers sync.WaitGroup // every goroutine of the session
	lines   chan batch
	listing chan *listing
	ended   context.CancelCauseFunc
	held    []batch // while a listing is under way
	busy    bool    // a listing is under way
}

func (s *session) run(ctx context.Context) error {
	ctx, s.ended = context.WithCancelCause(ctx)
	s.lines, s.listing = make(chan batch), make(chan *listing)
	defer s.readers.Wait()
	defer s.ended(nil)
	if err := s.subscribe(ctx); err != nil {
		return err
	}
	s.readers.Go(func() { s.watchNamespaces(ctx) })
	s.list(ctx)
	again := time.NewTimer(s.watcher.reconcile)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
			if !s.busy { // else it is set anew when that listing is complete
				s.list(ctx)
			}
		case l := <-s.listing:
			s.take(ctx, l)
			again.Reset(s.watcher.reconcile)
		case b := <-s.lines:
			if s.busy {
				s.held = append(s.held, b)
			} else {
				s.apply(ctx, b)
			}
		}
	}
}

// list begins a complete listing.
func (s *session) list(ctx context.Context) {
	l := &listing{same: map[idle.GroupID]bool{}}
	act := func(c *catalog) { l.known, l.reached = c.known() }
	if err := s.watcher.do(ctx, act); err != nil {
		return // the session has ended
	}
	s.busy = true
	s.readers.Go(func() {
		if err := l.take(ctx, s.client, s.listScopes()); err != nil {
			s.ended(err)
			return
		}
		select {
		case s.listing <- l:
		case <-ctx.Done():
		}
	})
}

// listScopes are what a listing asks for: "*" leaves out by itself what the token may not
// read.
func (s *session) listScopes() []string {
	if s.watcher.namespaces != nil {
		return s.watcher.namespaces
	}
	return []string{"*"}
}

// take believes a listing, then what happened since.
func (s *session) take(ctx context.Context, l *listing) {
	held := s.held
	s.busy, s.held = false, nil
	now := time.Now()
	err := s.watcher.do(ctx, func(c *catalog) { c.relist(l, now) })
	if err != nil {
		return // the session has ended
	}
	s.watcher.become(nil)
	for _, b := range held {
		s.apply(ctx, b)
	}
}

// apply tells the catalog of a line of events.
func (s *session) apply(ctx context.Context, b batch) {
	for _, e := range b.Events {
		act, err := s.decode(e)
		if err != nil {
			s.ended(err)
			return
		}
		if act != nil && s.watcher.do(ctx, act) != nil {
			return // the session has ended
		}
	}
}

// decode returns what an event means to the catalog; nil: nothing.
func (s *session) decode(e event) (func(*catalog), error) {
	var payload struct {
		Job        *nomad.Job
		Deleted    bool
		Allocation *sighting
	}
	if e.Topic != nomad.TopicJob && e.Topic != nomad.TopicAllocation {
		return nil, nil
	}
	if err := json.Unmarshal(e.Payload, &payload); err != nil {
		return nil, fmt.Errorf("cannot read event %s of %s %q: %w", e.Type, e.Topic, e.Key, err)
	}
	switch {
	case payload.Job != nil:
		deleted := payload.Deleted || isDeregistration(e.Type)
		return func(c *catalog) { c.jobEvent(e, payload.Job, deleted) }, nil
	case payload.Allocation != nil:
		return func(c *catalog) { c.allocEvent(e, payload.Allocation) }, nil
	}
	return nil, nil
}

// isDeregistration: the job was stopped or purged. Older versions of Nomad do not say
// which, and send the job as it was before.
func isDeregistration(kind string) bool {
	return kind == "JobDeregistered" || kind == "JobBatchDeregistered"
}

// watchNamespaces ends the session when the set of namespaces changes.
func (s *session) watchNamespaces(ctx context.Context) {
	if s.watcher.namespaces != nil {
		return
	}
	var first []string
	var index uint64
	for pause := time.Second; sleep(ctx, pause); {
		now, next, err := s.client.namespaces(ctx, index)
		switch {
		case err != nil:
			index, pause = 0, namespacesRetry
		case first != nil && !slices.Equal(now, first):
			s.ended(errNamespaces)
		default:
			first, index, pause = now, next, time.Second
		}
	}
}
