package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"doze/api/wire"
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

// A host that an older job has ends the tour at once, with that as the reason: all else that
// fails then follows from it.
func TestTour_hostIsAnothers_endsWithThatReason(t *testing.T) {
	var asked atomic.Int64
	gate := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer gate.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case wire.GroupsPath:
			var list wire.GroupList
			for _, app := range demoApps() {
				list.Groups = append(list.Groups, wire.Group{ID: wire.ID{Job: app.jobID()}, State: wire.Asleep})
			}
			_ = printJSON(w, list)
		case wire.DiagnosticsPath:
			_ = printJSON(w, wire.DiagnosticList{Diagnostics: []wire.Diagnostic{
				{Job: "other", Problem: "none of the tour's business"},
				{Job: "doze-demo-hello", Problem: "hello.localhost/ belongs to the older job of default/hello/web"},
			}})
		}
	}))
	defer api.Close()
	var out strings.Builder
	term := terminal{&out, io.Discard, func(string) (string, bool) { return "", false }}
	tour := &tour{gate: strings.TrimPrefix(gate.URL, "http://"), term: term, idle: time.Second,
		cluster: &demoCluster{}, api: &apiClient{address: api.URL, term: term, http: &http.Client{}}}
	tour.proxy = &http.Client{Transport: &http.Transport{DialContext: tour.dial}}
	err := tour.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "job doze-demo-hello: hello.localhost/ belongs to") ||
		strings.Contains(err.Error(), "business") {
		t.Errorf("the tour's error is %v", err)
	}
	if asked.Load() > 0 || strings.Contains(out.String(), "first request") {
		t.Errorf("it went on: %d requests\n%s", asked.Load(), &out)
	}
}
