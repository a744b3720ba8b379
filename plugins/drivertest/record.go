package drivertest

import (
	"maps"
	"slices"
	"time"

	"doze/plugins/drivers"
)

// Handles are the tasks that the agent would recover, by id.
func (r *record) Handles() map[string]drivers.Handle {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.handles)
}

// Fingerprints are all that the plugin has sent.
func (r *record) Fingerprints() []drivers.Fingerprint {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.fingerprints)
}

// TaskEvents are the events of one task, or with "" of all.
func (r *record) TaskEvents(id string) []drivers.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.events),
		func(e drivers.Event) bool { return id != "" && e.TaskID != id })
}

func (r *record) fingerprinted(f drivers.Fingerprint) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fingerprints = append(r.fingerprints, f)
	r.tell()
	return nil
}

func (r *record) heard(e drivers.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	r.tell()
	return nil
}

func (r *record) tell() {
	close(r.news)
	r.news = make(chan struct{})
}

func (r *record) changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.news
}

// Await waits for something that the plugin sends, and fails the test after 20 s.
func (a *Agent) Await(what string, is func() bool) {
	a.t.Helper()
	tooLate := time.After(patience)
	for {
		changed := a.changed()
		if is() {
			return
		}
		select {
		case <-changed:
		case <-tooLate:
			a.t.Fatalf("waited %s for %s", patience, what)
		}
	}
}
