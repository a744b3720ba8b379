package devnomad

import (
	"net/http"
	"time"
)

// wrap puts the faults in front of the API.
func (f *Faults) wrap(c *Cluster, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if x := f.match(r); x != nil {
			c.misbehave(x, next, w, r)
			return
		}
		f.mu.Lock()
		lost := f.noLeader
		f.mu.Unlock()
		if lost && r.URL.Path != "/v1/agent/self" {
			c.refuse(w, r, errNoLeader)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// misbehave treats a request as a rule says.
func (c *Cluster) misbehave(x *rule, next http.Handler, w http.ResponseWriter, r *http.Request) {
	if !c.linger(x, r) {
		return
	}
	if x.Act {
		next.ServeHTTP(nowhere{}, r)
	}
	switch {
	case x.Cut:
		panic(http.ErrAbortHandler) // net/http's way to end a connection without an answer
	case x.Status == 0:
		next.ServeHTTP(w, r)
	default:
		for k, v := range x.Header {
			w.Header().Set(k, v)
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if x.ContentType != "" {
			w.Header().Set("Content-Type", x.ContentType)
		}
		w.WriteHeader(x.Status)
		c.write(w, []byte(x.Body))
	}
}

// linger delays or hangs; false: the client has left meanwhile.
func (c *Cluster) linger(x *rule, r *http.Request) bool {
	var after <-chan time.Time
	if !x.Hang {
		if x.Delay <= 0 {
			return true
		}
		t := time.NewTimer(x.Delay)
		defer t.Stop()
		after = t.C
	}
	select {
	case <-after:
		return true
	case <-x.removed:
		return true
	case <-r.Context().Done():
		return false
	case <-c.ctx.Done():
		return false
	}
}

// nowhere takes an answer that nobody gets.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}
