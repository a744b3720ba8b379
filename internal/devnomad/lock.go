package devnomad

import (
	"context"
	"errors"
	"net/http"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// The limits and defaults of a variable's lock.
const (
	lockDefault = 15 * time.Second
	lockMin     = 10 * time.Second
	lockMax     = 24 * time.Hour
)

// lock is held until it is released, or until its TTL and then its delay have
// passed without a renewal.
type lock struct {
	id         string
	ttl, delay time.Duration
	renew      chan struct{}
	ended      context.Context // done when the lock is released
	end        context.CancelFunc
}

// shown is the lock as its holder sees it.
func (l *lock) shown() *nomad.VariableLock {
	if l == nil {
		return nil
	}
	return &nomad.VariableLock{ID: l.id, TTL: l.ttl.String(), LockDelay: l.delay.String()}
}

func lockID(v nomad.Variable) string {
	if v.Lock == nil {
		return ""
	}
	return v.Lock.ID
}

// lockVerb is the operation that a query string asks for; "": none.
func lockVerb(r *http.Request) (string, error) {
	verb := ""
	for _, v := range []string{"lock-acquire", "lock-renew", "lock-release"} {
		if !r.URL.Query().Has(v) {
			continue
		}
		if verb != "" {
			return "", fail(http.StatusBadRequest, "multiple lock operations")
		}
		verb = v
	}
	return verb, nil
}

func (c *Cluster) lockOperation(
	w http.ResponseWriter, verb string, k key, v nomad.Variable,
) (any, error) {
	switch verb {
	case "lock-renew":
		return c.renewLock(k, lockID(v))
	case "lock-release":
		return c.releaseLock(w, k, v)
	}
	return c.acquireLock(w, k, v)
}

// acquireLock overwrites the variable and locks it, unless somebody else has.
func (c *Cluster) acquireLock(w http.ResponseWriter, k key, v nomad.Variable) (any, error) {
	l, err := newLock(v.Lock)
	if err != nil {
		return nil, err
	}
	if !variablePath.MatchString(k.id) {
		return nil, fail(http.StatusBadRequest, "invalid path %q", k.id)
	}
	l.ended, l.end = context.WithCancel(c.ctx)
	v.Lock = nil
	out, err := c.answerVariable(w, k, func(_ *tx, was *variable) (*variable, *nomad.Variable) {
		if was != nil && was.lock != nil && was.lock.id != l.id {
			return nil, emptyVariable(k)
		}
		if was != nil && was.lock != nil {
			was.lock.end()
		}
		return &variable{Variable: v, lock: l}, nil
	})
	if got, ok := out.(*nomad.Variable); err != nil || !ok || got.Lock == nil {
		l.end()
		return out, err
	}
	c.spawn(func() { c.expire(k, l) })
	return out, nil
}

func newLock(want *nomad.VariableLock) (*lock, error) {
	if want == nil {
		want = &nomad.VariableLock{}
	}
	l := &lock{id: want.ID, renew: make(chan struct{}, 1)}
	if l.id == "" {
		l.id = newID()
	}
	var err error
	if l.ttl, err = lifetime(want.TTL, lockDefault); err != nil {
		return nil, err
	}
	if l.delay, err = lifetime(want.LockDelay, lockDefault); err != nil {
		return nil, err
	}
	var p problems
	if l.ttl < 0 || l.delay < 0 {
		p.addf("Lock delay and TTL must be positive")
	}
	if l.ttl < lockMin || l.ttl > lockMax {
		p.addf("TTL must be between 10 seconds and 24 hours")
	}
	if err := p.err(); err != nil {
		return nil, fail(http.StatusBadRequest, "%v", err)
	}
	return l, nil
}

// expire frees a lock that was not renewed in time, after its delay.
func (c *Cluster) expire(k key, l *lock) {
	defer l.end()
	ttl := time.NewTimer(l.ttl)
	defer ttl.Stop()
	for {
		select {
		case <-l.renew:
			ttl.Reset(l.ttl)
		case <-l.ended.Done():
			return
		case <-ttl.C:
			c.lapse(k, l)
			return
		}
	}
}

// lapse is the delay after the TTL, in which nobody can renew nor acquire.
func (c *Cluster) lapse(k key, l *lock) {
	c.setLapsed(l)
	if !sleep(l.ended, l.delay) {
		return
	}
	_, err := c.store.commit(typeVariable, func(t *tx) error {
		v := t.variables[k]
		if v == nil || v.lock != l {
			return errNoPlan
		}
		t.putVariable(k, &variable{Variable: v.Variable}, v)
		return nil
	})
	if err != nil && !errors.Is(err, errNoPlan) {
		c.log.Error("lock could not be freed", "path", k.id, "error", err)
	}
}

func (c *Cluster) setLapsed(l *lock) {
	c.store.view(func(*store) { l.renew = nil })
}

// renewLock starts the TTL anew; a lapsed lock cannot be renewed.
func (c *Cluster) renewLock(k key, id string) (any, error) {
	if id == "" {
		return nil, errors.New("missing lock ID")
	}
	var meta *nomad.VariableMetadata
	var err error
	c.store.view(func(s *store) {
		v := s.variables[k]
		switch {
		case v == nil:
			err = fail(http.StatusNotFound, "variable doesn't exist")
		case v.lock == nil:
			err = fail(http.StatusConflict, "variable doesn't hold a lock")
		case v.lock.id != id, v.lock.renew == nil:
			err = fail(http.StatusConflict, "attempting to modify locked variable")
		default:
			select {
			case v.lock.renew <- struct{}{}:
			default: // a renewal is under way
			}
			meta = v.metadata()
			meta.Lock = v.lock.shown()
		}
	})
	if err != nil {
		return nil, err
	}
	return meta, nil
}

// releaseLock gives a lock up; the variable's items stay as they are.
func (c *Cluster) releaseLock(w http.ResponseWriter, k key, v nomad.Variable) (any, error) {
	switch {
	case lockID(v) == "":
		return nil, fail(http.StatusBadRequest, "missing lock information")
	case v.Items != nil:
		return nil, fail(http.StatusBadRequest, "lock release operation doesn't take variable items")
	}
	var held *lock
	c.store.view(func(s *store) {
		if was := s.variables[k]; was != nil {
			held = was.lock
		}
	})
	if held == nil {
		return nil, errors.New("raft apply failed: variable doesn't hold a lock")
	}
	out, err := c.answerVariable(w, k, func(_ *tx, was *variable) (*variable, *nomad.Variable) {
		if was == nil || was.lock == nil || was.lock.id != v.Lock.ID {
			bad := emptyVariable(k)
			bad.Lock = &nomad.VariableLock{}
			return nil, bad
		}
		was.lock.end()
		return &variable{Variable: was.Variable}, nil
	})
	return out, err
}
