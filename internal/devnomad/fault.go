package devnomad

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// Step is a place where a cluster can be made slow.
type Step int

// The steps on the way from a scale call to a running task that the API shows.
const (
	StepPlacement Step = iota // from an evaluation to its plan
	StepStart                 // from the plan to the start of the tasks
	StepStatus                // from a change on the node to the server's knowing
)

// Faults tells a Cluster to misbehave, at run time. The zero value does nothing
// and is ready for use. All methods may be called from any goroutine; those that
// concern a running cluster do nothing before Start.
type Faults struct {
	mu       sync.Mutex
	rules    []*rule
	delays   map[Step]time.Duration
	lose     func(topic, kind string) bool
	double   func(topic, kind string) bool
	noLeader bool
	clock    time.Duration
	cluster  *Cluster
}

// Fault is one way to treat some requests. With neither Status, Hang nor Cut
// the request is served as usual, after Delay.
type Fault struct {
	Method string // "": any
	Path   string // of the URL; * stands for any run of characters; "": all
	After  int    // so many matching requests are served as usual first
	Times  int    // so many are treated; 0: all until it is removed

	Delay       time.Duration
	Status      int
	Body        string
	ContentType string // "": text/plain
	Header      map[string]string

	Hang bool // no answer until the client leaves or the fault is removed
	Cut  bool // the connection ends without an answer
	Act  bool // with Cut or Status: the request takes effect all the same
}

type rule struct {
	Fault
	seen    int
	removed chan struct{}
	once    sync.Once
}

// Inject adds a fault; of several that match, the newest counts. The returned
// function removes it and lets go of what hangs.
func (f *Faults) Inject(x Fault) (remove func()) {
	r := &rule{Fault: x, removed: make(chan struct{})}
	f.mu.Lock()
	f.rules = append(f.rules, r)
	f.mu.Unlock()
	return func() { f.remove(r) }
}

func (f *Faults) remove(r *rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.rules {
		if f.rules[i] == r {
			f.rules = append(f.rules[:i:i], f.rules[i+1:]...)
			break
		}
	}
	r.once.Do(func() { close(r.removed) })
}

// ActiveDeployment refuses scale calls as Nomad does during a deployment.
func ActiveDeployment() Fault {
	return Fault{
		Method: http.MethodPut, Path: "/v1/job/*/scale", Status: http.StatusBadRequest,
		Body: "job scaling blocked due to active deployment",
	}
}

// Forbidden refuses requests as for a token without the capability.
func Forbidden(path string) Fault {
	return Fault{Path: path, Status: http.StatusForbidden, Body: "Permission denied"}
}

// TooMany refuses requests as a rate limiter in front of Nomad does.
func TooMany(path string) Fault {
	return Fault{Path: path, Status: http.StatusTooManyRequests, Body: "Too Many Requests",
		Header: map[string]string{"Retry-After": "1"}}
}

// HTML answers as something that is not Nomad does.
func HTML() Fault {
	return Fault{Status: http.StatusOK, Body: "<!doctype html><title>Welcome</title>",
		ContentType: "text/html; charset=utf-8"}
}

// SetDelay adds d to a step; 0 takes it away.
func (f *Faults) SetDelay(s Step, d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.delays == nil {
		f.delays = map[Step]time.Duration{}
	}
	f.delays[s] = d
}

func (f *Faults) delay(s Step) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.delays[s]
}

// LoseEvents keeps the events for which match answers true from every stream,
// as a buffer that was too small does; nil: none.
func (f *Faults) LoseEvents(match func(topic, kind string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose = match
}

// DuplicateEvents sends events twice; nil: none.
func (f *Faults) DuplicateEvents(match func(topic, kind string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.double = match
}

// copies is how often a stream gets an event.
func (f *Faults) copies(e *event) int {
	f.mu.Lock()
	lose, double := f.lose, f.double
	f.mu.Unlock()
	switch {
	case lose != nil && lose(string(e.Topic), e.Type):
		return 0
	case double != nil && double(string(e.Topic), e.Type):
		return 2
	}
	return 1
}

// EndStreams ends the connection of every open event stream.
func (f *Faults) EndStreams() {
	if c := f.attached(); c != nil {
		c.store.broker.closeAll(true, nil)
	}
}

// SilenceStreams lets nothing through any open event stream any more, not even a
// heartbeat, while the connections stay open: a network that has gone away.
func (f *Faults) SilenceStreams() {
	if c := f.attached(); c != nil {
		c.store.broker.each(func(s *subscription) { s.mute.Store(true) })
	}
}

// LoseLeader makes every request fail until it is called with false; open
// streams go on, as those of a follower do.
func (f *Faults) LoseLeader(lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noLeader = lost
}

// Outage ends all connections and refuses new ones until it is called with
// false. Tasks go on.
func (f *Faults) Outage(out bool) error {
	c := f.attached()
	if c == nil {
		return nil
	}
	if !out {
		return c.door.open()
	}
	return c.door.shut()
}

// StepClock moves the cluster's wall clock, which all its time stamps show.
func (f *Faults) StepClock(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock += d
}

func (f *Faults) clockStep() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock
}

func (f *Faults) attach(c *Cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cluster = c
}

func (f *Faults) attached() *Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cluster
}

// match finds the newest rule for a request and counts it.
func (f *Faults) match(r *http.Request) *rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.rules) - 1; i >= 0; i-- {
		x := f.rules[i]
		if x.Method != "" && x.Method != r.Method || x.Path != "" && !glob(x.Path, r.URL.Path) {
			continue
		}
		x.seen++
		if x.seen <= x.After || x.Times > 0 && x.seen > x.After+x.Times {
			continue
		}
		return x
	}
	return nil
}

// glob matches with * for any run of characters, slashes too.
func glob(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}
