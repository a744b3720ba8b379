package demoapp

import (
	"net/http"
	"time"
)

// slowBoot is how long the slow application refuses to be ready, as a large framework does.
const slowBoot = 2 * time.Second

// newSlow returns an application that listens at once but answers everything with 503
// until it has been up for slowBoot.
func newSlow(started time.Time) http.Handler {
	hello := newHello(started)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if time.Since(started) < slowBoot {
			http.Error(w, "still booting", http.StatusServiceUnavailable)
			return
		}
		hello.ServeHTTP(w, r)
	})
}
