package main

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"doze/api"
	"doze/api/wire"
	"doze/healthgate"
	"doze/idle"
	"doze/jobs"
)

// join is where the halves of `doze serve` meet: it is told by the watcher what Nomad has
// (jobs.Sink) and hands it to the loop and to the gate's routes.
type join struct {
	loop     *idle.Loop
	routes   *api.Routes
	gone     func(*healthgate.Member) // lets go of its connections
	counters *healthgate.Counters
	limit    *healthgate.Limiter
	off      bool // the kill switch
	log      *slog.Logger
	found    func(idle.GroupID) // told of a group that was found awake
	synced   atomic.Bool        // everything has been listed once
	tidying  sync.WaitGroup     // memory is being given back; it takes part of a second

	mu          sync.Mutex
	diagnostics map[idle.GroupID]jobs.Diagnostics // by job
}

// Put adds a group, or changes one that is known already.
func (j *join) Put(g jobs.Group, w idle.Workload, o idle.Observation) {
	group := j.loop.Group(g.ID)
	if group == nil {
		j.add(g, w, o)
		return
	}
	if err := group.SetPolicy(policyOf(g.Policy)); err != nil {
		j.log.Error("cannot change a group's policy", "group", g.ID, "error", err)
	}
	if err := group.Gate().SetProbe(*g.Policy.Probe); err != nil {
		j.log.Error("cannot change a group's probe", "group", g.ID, "error", err)
	}
	group.Observe(o)
	j.route(g, group)
}

func (j *join) add(g jobs.Group, w idle.Workload, o idle.Observation) {
	group, err := j.loop.Add(idle.GroupConfig{
		ID:     g.ID,
		Policy: policyOf(g.Policy),
		Gate: healthgate.GateConfig{
			Probe: *g.Policy.Probe, Off: j.off, Counters: j.counters, Limit: j.limit,
			OnGone: j.gone, Log: j.log,
		},
		Workload: w,
		Observed: o,
	})
	if err != nil {
		j.log.Error("cannot manage a group", "group", g.ID, "error", err)
		return
	}
	level := slog.LevelInfo
	if !j.synced.Load() { // there may be 100,000 at the start
		level = slog.LevelDebug
	}
	j.log.Log(context.Background(), level, "found a group", "group", g.ID, "count", o.Count)
	j.route(g, group)
	if o.Count > 0 {
		j.found(g.ID)
	}
}

// policyOf is the part of a job's policy that the lifecycle goes by.
func policyOf(p jobs.Policy) idle.Policy {
	return idle.Policy{
		Rungs:       []idle.Rung{{Depth: idle.Zero, After: p.IdleAfter}},
		MinAwake:    p.MinAwake,
		WakeTimeout: p.WakeTimeout,
		DrainDelay:  p.DrainDelay,
		FailOpen:    p.OnTimeout == "open",
	}
}

func (j *join) route(g jobs.Group, group *idle.Group) {
	waiting, err := api.ParseWaitingMode(g.Policy.Waiting)
	if err != nil {
		j.log.Error("cannot route a group", "group", g.ID, "error", err)
		return
	}
	site := &api.Site{
		Group: group, Waiting: waiting, MaxHeld: g.Policy.MaxHeld,
		Ignore:      api.Ignore(g.Policy.Ignore),
		WakeTimeout: g.Policy.WakeTimeout,
		Created:     g.JobCreateIndex,
	}
	for _, route := range g.Policy.Routes {
		site.Routes = append(site.Routes, api.Route(route))
	}
	for _, conflict := range j.routes.Put(site) {
		j.log.Warn("two groups claim one route", "conflict", conflict)
	}
}

// Remove forgets a group.
func (j *join) Remove(id idle.GroupID, cause string) {
	j.log.Info("leaving a group alone", "group", id, "cause", cause)
	j.routes.Remove(id)
	j.loop.Remove(id)
}

// Observe hands on a count that somebody else has changed.
func (j *join) Observe(id idle.GroupID, o idle.Observation) {
	if group := j.loop.Group(id); group != nil {
		group.Observe(o)
	}
}

// Targets hands on a group's addresses.
func (j *join) Targets(id idle.GroupID, targets []healthgate.Target) {
	if group := j.loop.Group(id); group != nil {
		group.SetTargets(targets)
	}
}

// Diagnose keeps what is wrong with a job and logs what is new.
func (j *join) Diagnose(job idle.GroupID, ds jobs.Diagnostics) {
	j.mu.Lock()
	old := j.diagnostics[job]
	if len(ds) == 0 {
		delete(j.diagnostics, job)
	} else {
		j.diagnostics[job] = ds
	}
	j.mu.Unlock()
	for _, d := range ds {
		if !slices.Contains(old, d) {
			j.log.Warn("a group is left alone until its job is mended", "job", job.Job,
				"namespace", job.Namespace, "problem", d.String())
		}
	}
}

// manyGroups is from where on what a listing leaves behind is worth giving back.
const manyGroups = 10_000

// Resynced notes that everything is known. A listing of a large cluster leaves behind a
// multiple of what it has found; that is given back at once, beside everything else.
func (j *join) Resynced(time.Time) {
	groups := len(j.loop.Groups())
	if !j.synced.Swap(true) {
		j.log.Info("everything is listed", "groups", groups)
	}
	if groups >= manyGroups {
		j.tidying.Wait() // in practice the one before is long over
		j.tidying.Go(debug.FreeOSMemory)
	}
}

// list returns everything that is wrong now, for the API.
func (j *join) list() []wire.Diagnostic {
	out := []wire.Diagnostic{}
	j.mu.Lock()
	for job, ds := range j.diagnostics {
		for _, d := range ds {
			out = append(out, wire.Diagnostic{
				Namespace: job.Namespace, Job: job.Job, Group: d.Group.Group,
				Path: d.Path, Problem: d.Problem, Hint: d.Hint,
			})
		}
	}
	j.mu.Unlock()
	for _, c := range j.routes.Conflicts() {
		out = append(out, conflictDiagnostic(c))
	}
	slices.SortFunc(out, compareDiagnostics)
	return out
}

// conflictDiagnostic words a contested route for the group that lost it.
func conflictDiagnostic(c api.Conflict) wire.Diagnostic {
	return wire.Diagnostic{
		Namespace: c.Loser.Namespace, Job: c.Loser.Job, Group: c.Loser.Group,
		Path:    "route",
		Problem: c.Host + c.PathPrefix + " belongs to the older job of " + c.Keeper.String(),
		Hint:    "give this group a host or a path of its own",
	}
}

func compareDiagnostics(a, b wire.Diagnostic) int {
	return cmp.Or(
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Job, b.Job),
		strings.Compare(a.Group, b.Group), strings.Compare(a.Path, b.Path),
	)
}
