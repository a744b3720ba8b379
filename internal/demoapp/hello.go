package demoapp

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

// StartedHeader is the header in which the hello application tells when its process was
// started: the same in all of the process's answers, and in no other's.
const StartedHeader = "App-Started"

// newHello returns an application that is ready as soon as it listens.
func newHello(started time.Time) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set(StartedHeader, started.UTC().Format(time.RFC3339Nano))
		fmt.Fprintf(w, "Hello from %s: you asked for %s %s. Up for %s.\n",
			whoAmI(), r.Method, r.URL.Path, time.Since(started).Round(time.Millisecond))
	})
	return mux
}

// whoAmI names the allocation that the application runs in, where there is one.
func whoAmI() string {
	alloc := os.Getenv("NOMAD_ALLOC_ID")
	if alloc == "" {
		return "a process of its own"
	}
	return "allocation " + strings.SplitN(alloc, "-", 2)[0]
}
