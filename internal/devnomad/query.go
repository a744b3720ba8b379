package devnomad

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	allNamespaces = "*"
	maxWait       = 300 * time.Second // also what a blocking query waits by default
	waitJitter    = 16                // up to a sixteenth is added to a wait
)

// query is what every reading request has in common.
type query struct {
	ns     string
	prefix string
	index  uint64 // answer only when the result is newer
	wait   time.Duration
	grants *grants
}

// found is what a read saw: an object and its index, or what was missing.
type found struct {
	obj     any
	index   uint64
	missing string // the text of a 404; "": found
}

func namespaceOf(r *http.Request) string {
	if ns := r.URL.Query().Get("namespace"); ns != "" {
		return ns
	}
	return "default"
}

// secretOf reads the token from X-Nomad-Token or the bearer scheme.
func secretOf(r *http.Request) string {
	if s := r.Header.Get("X-Nomad-Token"); s != "" {
		return strings.TrimSpace(s)
	}
	scheme, value, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	value, _, _ = strings.Cut(strings.TrimSpace(value), " ")
	return value
}

func (c *Cluster) parseQuery(r *http.Request) (query, error) {
	v := r.URL.Query()
	q := query{ns: namespaceOf(r), prefix: v.Get("prefix"), wait: maxWait}
	if s := v.Get("wait"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			return q, fail(http.StatusBadRequest, "Invalid wait time")
		}
		if d > 0 {
			q.wait = min(d, maxWait)
		}
	}
	if s := v.Get("index"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return q, fail(http.StatusBadRequest, "Invalid index")
		}
		q.index = n
	}
	var err error
	q.grants, err = c.resolve(r)
	return q, err
}

// read serves a query that may block: it looks again at every change until the
// result is newer than the asked index, or the wait is over.
func (c *Cluster) read(
	w http.ResponseWriter, r *http.Request, look func(*store, query) (found, error),
) (any, error) {
	if r.Method != http.MethodGet {
		return nil, errMethod
	}
	q, err := c.parseQuery(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if q.index > 0 {
		ctx, cancel = context.WithTimeout(ctx, q.wait+rand.N(q.wait/waitJitter+1))
	}
	defer cancel()
	f, err := c.lookUntil(ctx, q, look)
	if err != nil {
		return nil, err
	}
	setMeta(w, f.index)
	if f.missing != "" {
		return nil, fail(http.StatusNotFound, "%s", f.missing)
	}
	return f.obj, nil
}

func (c *Cluster) lookUntil(
	ctx context.Context, q query, look func(*store, query) (found, error),
) (found, error) {
	for {
		var f found
		var err error
		changed := c.store.view(func(s *store) { f, err = look(s, q) })
		if err != nil || q.index == 0 || f.index > q.index {
			return f, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return f, nil
		case <-c.ctx.Done():
			return f, nil
		}
	}
}

// within says whether a namespaced object is asked for and may be seen.
func (q query) within(ns string, caps ...string) bool {
	return (q.ns == allNamespaces || q.ns == ns) && q.grants.allow(ns, caps...)
}

// require refuses a query that needs one of the capabilities in its namespace.
func (q query) require(caps ...string) error {
	if !q.grants.allow(q.ns, caps...) {
		return errForbidden
	}
	return nil
}
