package api

import (
	"fmt"
	"sync/atomic"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// WaitingMode is what a request gets while its group is not ready.
type WaitingMode uint8

const (
	// WaitAuto holds for 1.5 s, then gives navigations the page and goes on holding the rest.
	WaitAuto WaitingMode = iota
	// WaitHold holds every request until the group is ready or the deadline has come.
	WaitHold
	// WaitPage gives navigations the page at once and holds the rest.
	WaitPage
	// WaitReject answers 503 with Retry-After at once; the wake goes on without the client.
	WaitReject
)

// ParseWaitingMode reads the policy's word: auto, hold, page or reject; "" is auto.
func ParseWaitingMode(word string) (WaitingMode, error) {
	switch word {
	case "", "auto":
		return WaitAuto, nil
	case "hold":
		return WaitHold, nil
	case "page":
		return WaitPage, nil
	case "reject":
		return WaitReject, nil
	}
	return WaitAuto, fmt.Errorf("cannot use waiting mode %q: want auto, hold, page or reject",
		word)
}

const (
	defaultWakeTimeout = 60 * time.Second
	defaultSiteHeld    = 1024
)

// Site is one group as the gate sees it. It belongs to Routes once it has been Put: to
// change it, Put another one for the same group.
type Site struct {
	Group   *idle.Group // required
	Waiting WaitingMode
	// MaxHeld bounds the requests held at once for this group; 0: 1024.
	MaxHeld int
	// Routes say which requests are for the group; none: only commands wake it.
	Routes []Route
	Ignore Ignore
	// WakeTimeout is how long a request may wait, from its arrival, for the group to finish
	// falling asleep and to wake; 0: 60 s. It waits for 100 ms more, so that a wake with
	// the same limit has the last word.
	WakeTimeout time.Duration
	// Created orders the claims on a contested route: the smallest keeps it. It is the
	// job's create index.
	Created uint64

	// state outlives the Site: whatever replaces it for the same group takes it over.
	state *siteState
}

// siteState is what the gate remembers of a group between requests.
type siteState struct {
	held  atomic.Int64
	timed atomic.Uint64 // the generation whose Server-Timing has been told
}

func (s *Site) wakeTimeout() time.Duration {
	if s.WakeTimeout <= 0 {
		return defaultWakeTimeout
	}
	return s.WakeTimeout
}

func (s *Site) maxHeld() int64 {
	if s.MaxHeld <= 0 {
		return defaultSiteHeld
	}
	return int64(s.MaxHeld)
}

// firstOf reports whether this is the first answer of generation gen; it says so once.
func (s *siteState) firstOf(gen healthgate.Generation) bool {
	told := s.timed.Load()
	return told < uint64(gen) && s.timed.CompareAndSwap(told, uint64(gen))
}
