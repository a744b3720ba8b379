package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"doze/internal/demoapp"
)

func TestTour_thaw_holdsOnlyWhereTheSameProcessAnswers(t *testing.T) {
	const early, late = "2026-11-30T04:00:00.5Z", "2026-11-30T04:00:09.5Z"
	for _, c := range []struct {
		before, after string
		holds         bool
	}{
		{early, early, true},
		{early, late, false},
		{early, "", false},
		{"", "", false},
	} {
		tour := tourOf(t, c.before, c.after)
		if _, err := tour.startFrozen(t.Context()); (err == nil) != (c.before != "") {
			t.Errorf("%+v: the start returned %v", c, err)
		}
		if _, err := tour.thaw(t.Context()); (err == nil) != c.holds {
			t.Errorf("%+v: the thaw returned %v", c, err)
		}
	}
}

// tourOf is a tour at a gate behind which processes answer that were started at those times,
// one each request.
func tourOf(t *testing.T, started ...string) *tour {
	t.Helper()
	var n atomic.Int64
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(demoapp.StartedHeader, started[n.Add(1)-1])
	}))
	t.Cleanup(gate.Close)
	tour := &tour{gate: strings.TrimPrefix(gate.URL, "http://"), cluster: &demoCluster{}}
	tour.proxy = &http.Client{Transport: &http.Transport{DialContext: tour.dial}}
	t.Cleanup(tour.proxy.CloseIdleConnections)
	return tour
}
