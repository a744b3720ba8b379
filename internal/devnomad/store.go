package devnomad

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// key names a namespaced object.
type key struct{ ns, id string }

func (k key) less(o key) int {
	return strings.Compare(k.ns+"\x00"+k.id, o.ns+"\x00"+o.id)
}

// table is one kind of object in the store; its index is the last operation
// that touched it.
type table string

const (
	tableJobs        table = "jobs"
	tableSummaries   table = "job_summary"
	tableEvals       table = "evals"
	tableAllocs      table = "allocs"
	tableDeployments table = "deployment"
	tableServices    table = "service_registrations"
	tablePolicies    table = "scaling_policy"
	tableEvents      table = "scaling_event"
	tableNamespaces  table = "namespaces"
	tableVariables   table = "variables"
	tableTokens      table = "acl_token"
	tableACLPolicies table = "acl_policy"
)

// store is the replicated state: tables of immutable objects under one lock,
// a global index that grows by one an operation, and a channel that is closed
// at each operation. Whoever changes an object puts a changed copy.
type store struct {
	mu      sync.Mutex
	index   uint64
	tables  map[table]uint64
	changed chan struct{} // closed and replaced at every commit

	jobs        map[key]*nomad.Job
	versions    map[key][]*nomad.Job // newest first
	evals       map[string]*nomad.Evaluation
	allocs      map[string]*nomad.Allocation
	byJob       map[key][]string // allocation IDs in order of creation
	evalsByJob  map[key][]string
	deployments map[string]*nomad.Deployment
	services    map[string]*nomad.ServiceRegistration
	scaled      map[key]map[string][]nomad.ScalingEvent // newest first
	scaledAt    map[key]uint64
	summaryAt   map[key][2]uint64 // create and modify index
	namespaces  map[string]*nomad.Namespace
	variables   map[key]*variable
	tokens      map[string]*token // by secret
	policies    map[string]*nomad.ACLPolicy

	node   *node
	broker *broker
	now    func() time.Time
}

func newStore(now func() time.Time) *store {
	s := &store{
		index:       1,
		tables:      map[table]uint64{},
		changed:     make(chan struct{}),
		jobs:        map[key]*nomad.Job{},
		versions:    map[key][]*nomad.Job{},
		evals:       map[string]*nomad.Evaluation{},
		allocs:      map[string]*nomad.Allocation{},
		byJob:       map[key][]string{},
		evalsByJob:  map[key][]string{},
		deployments: map[string]*nomad.Deployment{},
		services:    map[string]*nomad.ServiceRegistration{},
		scaled:      map[key]map[string][]nomad.ScalingEvent{},
		scaledAt:    map[key]uint64{},
		summaryAt:   map[key][2]uint64{},
		namespaces:  map[string]*nomad.Namespace{},
		variables:   map[key]*variable{},
		tokens:      map[string]*token{},
		policies:    map[string]*nomad.ACLPolicy{},
		broker:      newBroker(),
		now:         now,
	}
	s.namespaces["default"] = &nomad.Namespace{
		Name: "default", Description: "Default shared namespace", CreateIndex: 1, ModifyIndex: 1,
	}
	s.tables[tableNamespaces] = 1
	return s
}

// tx is one operation under way, with the store's lock held.
type tx struct {
	*store
	index  uint64
	at     time.Time
	typ    string // the type its events have; "": it has none
	events []*event
}

// commit applies fn as one operation. An error of fn leaves the index as it
// was, so fn must check before it puts.
func (s *store) commit(typ string, fn func(*tx) error) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &tx{store: s, index: s.index + 1, at: s.now(), typ: typ}
	if err := fn(t); err != nil {
		return 0, err
	}
	s.index = t.index
	t.flush()
	close(s.changed)
	s.changed = make(chan struct{})
	return t.index, nil
}

// view runs fn on the state as it is and returns the channel that the next
// change closes.
func (s *store) view(fn func(*store)) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s)
	return s.changed
}

// flush publishes the events so far, as an operation of their own.
func (t *tx) flush() {
	t.broker.publish(t.index, t.events)
	t.events = nil
}

func (t *tx) touch(tb table) { t.tables[tb] = t.index }

// emit adds an event; of one object the last state counts, at its last place.
func (t *tx) emit(e *event) {
	if t.typ == "" {
		return
	}
	e.Type, e.Index = t.typ, t.index
	t.events = slices.DeleteFunc(t.events, func(o *event) bool {
		return o.Topic == e.Topic && o.Key == e.Key && o.Namespace == e.Namespace
	})
	t.events = append(t.events, e)
}

func (t *tx) putEval(e *nomad.Evaluation) {
	k := key{e.Namespace, e.JobID}
	if t.evals[e.ID] == nil {
		e.CreateIndex = t.index
		t.evalsByJob[k] = append(t.evalsByJob[k], e.ID)
	}
	e.ModifyIndex = t.index
	t.evals[e.ID] = e
	t.touch(tableEvals)
	t.emit(evalEvent(e))
}

func (t *tx) putAlloc(a *nomad.Allocation) {
	k := key{a.Namespace, a.JobID}
	if t.allocs[a.ID] == nil {
		a.CreateIndex = t.index
		t.byJob[k] = append(t.byJob[k], a.ID)
	}
	a.ModifyIndex = t.index
	t.allocs[a.ID] = a
	t.touch(tableAllocs)
	t.touchSummary(k)
	t.emit(allocEvent(a))
}

func (t *tx) putDeployment(d *nomad.Deployment) {
	if t.deployments[d.ID] == nil {
		d.CreateIndex, d.CreateTime = t.index, t.at.UnixNano()
	}
	d.ModifyIndex, d.ModifyTime = t.index, t.at.UnixNano()
	t.deployments[d.ID] = d
	t.touch(tableDeployments)
	t.emit(deploymentEvent(d))
}

func (t *tx) touchSummary(k key) {
	at := t.summaryAt[k]
	if at[0] == 0 {
		at[0] = t.index
	}
	at[1] = t.index
	t.summaryAt[k] = at
	t.touch(tableSummaries)
}

// jobAllocs lists a job's allocations in order of creation.
func (s *store) jobAllocs(k key) []*nomad.Allocation {
	out := make([]*nomad.Allocation, 0, len(s.byJob[k]))
	for _, id := range s.byJob[k] {
		out = append(out, s.allocs[id])
	}
	return out
}

func (s *store) jobEvals(k key) []*nomad.Evaluation {
	out := make([]*nomad.Evaluation, 0, len(s.evalsByJob[k]))
	for _, id := range s.evalsByJob[k] {
		out = append(out, s.evals[id])
	}
	return out
}

// sortedKeys gives a stable order, which Nomad's radix tables have by nature.
func sortedKeys[V any](m map[key]V) []key {
	return slices.SortedFunc(maps.Keys(m), key.less)
}
