package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"

	"doze/api/wire"
	"doze/idle"
)

// ControlConfig is what the control API needs. Loop, Journal and Auth are required.
type ControlConfig struct {
	// Loop has the groups.
	Loop *idle.Loop
	// Journal has the transitions; its Record must be the loop's OnTransition.
	Journal *Journal
	// Diagnostics returns what is wrong with which job now; nil: nothing ever is.
	Diagnostics func() []wire.Diagnostic
	// Auth decides who may do what; Open only where ValidateListen allows it.
	Auth Authorizer
	// Leases keeps leases over a restart; nil: they end with the process.
	Leases LeaseStore
	// Health serves /livez and /readyz, before every other rule; nil: nobody does.
	Health http.Handler
	// Metrics serves /metrics, without authentication; nil: nobody does.
	Metrics http.Handler
	// AllowedHosts are the names, besides loopback and IP addresses, that requests may give
	// as Host.
	AllowedHosts []string
	// Version is told in the header Doze-Version; "": it is not.
	Version string
	// Log receives errors that callers are not shown; nil discards.
	Log *slog.Logger
}

// Validate reports everything that is missing or wrong, joined.
func (c ControlConfig) Validate() error {
	var errs []error
	if c.Loop == nil {
		errs = append(errs, errors.New("no Loop: it has the groups"))
	}
	if c.Journal == nil {
		errs = append(errs, errors.New("no Journal: it has the transitions"))
	}
	if c.Auth == nil {
		errs = append(errs, errors.New("no Auth: it decides who may call; "+
			"Open{} where ValidateListen allows it"))
	}
	if _, err := newHosts(c.AllowedHosts); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// control is the API's handler.
type control struct {
	ControlConfig
	hosts   hosts
	origins *http.CrossOriginProtection
	router  *mux.Router
	saving  leaseSaver
	streams atomic.Int64 // event streams that are open
}

// NewControl returns the control API. It serves on its own listener, never on the gate's.
func NewControl(cfg ControlConfig) (http.Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("cannot set up the control API: %w", err)
	}
	return newControl(cfg), nil
}

// newControl expects a valid config.
func newControl(cfg ControlConfig) *control {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Diagnostics == nil {
		cfg.Diagnostics = func() []wire.Diagnostic { return nil }
	}
	names, _ := newHosts(cfg.AllowedHosts) // Validate has read them
	c := &control{
		ControlConfig: cfg,
		hosts:         names,
		origins:       http.NewCrossOriginProtection(),
		saving:        newLeaseSaver(cfg.Leases),
	}
	c.router = c.newRouter()
	return c
}

// NewControlServer returns a server for h, the handler of NewControl, with the bounds that
// keep a slow or idle client from costing anything. Answers may take as long as ?wait= says
// and event streams stay open, so there is no write timeout; Journal.Close ends the streams.
func NewControlServer(h http.Handler, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// ServeHTTP applies, in this order: health, host, origin; then the router's rules.
func (c *control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer c.recover(w, r)
	if c.Health != nil && (r.URL.Path == wire.LivePath || r.URL.Path == wire.ReadyPath) {
		c.Health.ServeHTTP(w, r)
		return
	}
	setSafeHeaders(w.Header(), c.Version)
	if p := c.hosts.check(r); p != nil {
		writeProblem(w, p)
		return
	}
	if err := c.origins.Check(r); err != nil {
		writeProblem(w, problem(crossOrigin, err.Error(),
			"only the page that doze serves itself, and programs, may write"))
		return
	}
	c.router.ServeHTTP(w, r)
}

// setSafeHeaders keeps answers out of caches, frames and other sites.
func setSafeHeaders(h http.Header, version string) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if version != "" {
		h.Set("Doze-Version", version)
	}
}

// recover turns a panic into a 500 for the one request that caused it.
func (c *control) recover(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler {
		panic(cause) // the server's own way of cutting a connection
	}
	c.Log.Error("the control API panicked", "method", r.Method, "path", r.URL.Path,
		"panic", cause, "stack", string(debug.Stack()))
	writeProblem(w, problemOf(errors.New("panicked")))
}

// fail answers with err. What the caller is not shown is logged here and nowhere else.
func (c *control) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // nobody is there to be answered
	}
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		c.Log.Error("cannot answer", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	writeProblem(w, p)
}
