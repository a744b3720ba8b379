package healthgate_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"doze/healthgate"
)

func benchmarkedHealth(b *testing.B) *healthgate.Health {
	h := startedHealth(b, healthgate.HealthConfig{
		CacheInterval: time.Hour,
		Checks:        []healthgate.Check{{Name: "db", Check: passes}},
	})
	if err := h.Ready(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	return h
}

// To reach: 1 M/s on one core, no allocation.
func BenchmarkHealth_readyCached(b *testing.B) {
	h, ctx := benchmarkedHealth(b), b.Context()
	for b.Loop() {
		_ = h.Ready(ctx)
	}
}

func BenchmarkHealth_handlerCached(b *testing.B) {
	h := benchmarkedHealth(b)
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/readyz", nil)
	for b.Loop() {
		w.Body.Reset()
		h.ServeHTTP(w, r)
	}
}

func BenchmarkHealth_runUncached(b *testing.B) {
	h := startedHealth(b, healthgate.HealthConfig{
		CacheInterval: -1, Checks: []healthgate.Check{{Name: "db", Check: passes}},
	})
	b.ReportAllocs()
	ctx := b.Context()
	for b.Loop() {
		_ = h.Ready(ctx)
	}
}
