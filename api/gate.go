package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"doze/healthgate"
	"doze/idle"
)

const (
	defaultMaxHeld    = 10240
	readHeaderTimeout = 10 * time.Second
	keepAliveTimeout  = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// GateConfig is the Gate's.
type GateConfig struct {
	Routes *Routes // required
	// MaxHeld bounds the requests held at once for all groups together; 0: 10240.
	MaxHeld int
	// Off admits to any target that exists, ready or not: the kill switch. The gates of
	// the groups must be told so too (healthgate.GateConfig.Off).
	Off bool
	// Dial connects to targets; nil: a plain net.Dialer.
	Dial healthgate.DialFunc
	// Upgraded, if not nil, keeps account of upgraded connections for a shutdown.
	Upgraded *healthgate.Upgraded
	Metrics  *Metrics     // nil: counted for nobody
	Log      *slog.Logger // nil discards
}

// Gate is the request path. While a group is ready it forwards with no lock, no allocation
// and no call to anybody on the way to its decision; otherwise it has the group woken and
// holds the request, at most until Site.WakeTimeout after its arrival.
//
// A request reaches the target with its method, path and Host as they were and without
// headers for the client's connection. The client's address is appended to
// X-Forwarded-For; X-Forwarded-Proto and -Host are set where they are missing, so that a
// proxy in front of Doze keeps its word. What a client itself writes there is passed on:
// only the last address in X-Forwarded-For is the gate's own word.
//
// A request is sent once. Only where a target took no connection, or a kept connection
// died before the first byte of an answer to a safe request without a body, another
// attempt is made. A client that ends its half of an HTTP/1 connection before its answer
// has come is taken to have left, as net/http takes it.
type Gate struct {
	routes    *Routes
	upstreams *upstreams
	metrics   *Metrics
	log       *slog.Logger
	off       bool
	maxHeld   int64
	held      atomic.Int64
	cut       context.Context // ended by RefuseHeld
	cutHeld   context.CancelFunc
}

// NewGate returns a Gate, or an error if the configuration is not usable.
func NewGate(cfg GateConfig) (*Gate, error) {
	if cfg.Routes == nil {
		return nil, errors.New("cannot make a gate: Routes is missing")
	}
	if cfg.MaxHeld < 0 {
		return nil, errors.New("cannot make a gate: MaxHeld is negative")
	}
	g := &Gate{
		routes: cfg.Routes, upstreams: newUpstreams(cfg.Dial, cfg.Upgraded), metrics: cfg.Metrics,
		log: cfg.Log, off: cfg.Off, maxHeld: int64(cfg.MaxHeld),
	}
	g.cut, g.cutHeld = context.WithCancel(context.Background())
	if g.maxHeld == 0 {
		g.maxHeld = defaultMaxHeld
	}
	if g.metrics == nil {
		g.metrics = NewMetrics(nil)
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	return g, nil
}

// Server returns a server for the Gate (see Front for a faster one) that speaks HTTP/1.1
// and, for those who start with it (gRPC), HTTP/2 in clear text. It bounds the time and size
// of request heads and the idle time of connections, but no body and no answer: streams may
// last.
func (g *Gate) Server() *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           g,
		Protocols:         protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       keepAliveTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       withConn,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: clientStall / 2, PingTimeout: clientStall / 2,
			WriteByteTimeout: clientStall,
		},
		ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}
}

// OnGone closes the idle connections to a target that has left its gate; those in use end
// with their requests. It is for healthgate.GateConfig.OnGone.
func (g *Gate) OnGone(m *healthgate.Member) { g.upstreams.drop(m) }

// RefuseHeld answers whatever is held, now or later, with 503, Retry-After and Connection:
// close. It is for a process that must go (healthgate.DrainConfig.BeforeCut).
func (g *Gate) RefuseHeld() { g.cutHeld() }

// ServeHTTP answers one request. It returns when both directions have ended.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	site, valid := g.routes.find(r.Host, r.URL.Path)
	switch {
	case !valid:
		g.refuse(w, r, invalidHost, gaveUnknown)
	case r.Method == http.MethodConnect:
		g.refuse(w, r, tunnelRefused, gaveUnknown)
	case requestTarget(r) == "":
		g.refuse(w, r, invalidTarget, gaveUnknown)
	case site == nil:
		g.refuse(w, r, noSuchHost, gaveUnknown)
	case site.Ignore.Match(r):
		g.serveIgnored(site, w, r)
	default:
		g.serve(site, w, r)
	}
}

// serve forwards at once where the group is ready. The lease that it takes first and gives
// back last is what keeps the group awake, held or served.
func (g *Gate) serve(site *Site, w http.ResponseWriter, r *http.Request) {
	open := site.Group.Acquire()
	defer site.Group.Release()
	if open || g.off {
		if m := site.Group.Gate().Pick(); m != nil {
			if m.Generation != 0 && site.state.firstOf(m.Generation) {
				addTiming(w.Header(), site.Group.Status().LastWake, m.Generation, time.Now())
			}
			if end, answered := g.forward(site, m, w, r); answered {
				g.metrics.requests[end].Inc()
				return
			}
		}
	}
	newHold(g, site, w, r).serve()
}

// serveIgnored answers a monitor or a crawler without waking the group and without being
// counted: what the target says if it is awake, else 200, or 503 after a failed wake.
func (g *Gate) serveIgnored(site *Site, w http.ResponseWriter, r *http.Request) {
	g.metrics.requests[gaveIgnored].Inc()
	status := site.Group.Status()
	if status.State == idle.Ready {
		if m := site.Group.Gate().Pick(); m != nil {
			if _, answered := g.forward(site, m, w, r); answered {
				return
			}
		}
	}
	if status.State == idle.Failed {
		g.send(w, r, failed(time.Until(status.RetryAt)))
		return
	}
	g.send(w, r, asleep)
}

func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, f refusal, o outcome) {
	g.metrics.requests[o].Inc()
	g.send(w, r, f)
}

func (g *Gate) send(w http.ResponseWriter, r *http.Request, f refusal) {
	if err := f.write(w, r); err != nil {
		g.log.Debug("cannot send the gate's answer", "error", err)
	}
	readRest(w, r, r.Body)
}
