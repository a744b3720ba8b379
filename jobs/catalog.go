package jobs

import (
	"slices"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

// catalog is what is known of the managed groups. One goroutine (Watcher.Run) owns it and
// tells the sink.
type catalog struct {
	watcher *Watcher // whom the workloads belong to
	sink    Sink
	jobs    map[idle.GroupID]*job // by namespace and job
	index   uint64                // of the last listing
	latest  uint64                // the highest that any job was seen at
	shared  sharedPolicies
}

// job is one job that has a scaling block.
type job struct {
	stamp
	seen        uint64      // raft index of the newest thing seen of it
	groups      []*group    // managed ones
	diagnostics Diagnostics // as last told
}

func newCatalog(w *Watcher, sink Sink) *catalog {
	return &catalog{watcher: w, sink: sink, jobs: map[idle.GroupID]*job{}}
}

func jobOf(id idle.GroupID) idle.GroupID { id.Group = ""; return id }

// group returns a managed group, or nil.
func (c *catalog) group(id idle.GroupID) *group {
	j := c.jobs[jobOf(id)]
	if j == nil {
		return nil
	}
	return j.group(id.Group)
}

func (j *job) group(name string) *group {
	for _, g := range j.groups {
		if g.id().Group == name {
			return g
		}
	}
	return nil
}

// known returns which version of each job is known, and the index that Nomad has certainly
// reached.
func (c *catalog) known() (jobs map[idle.GroupID]stamp, reached uint64) {
	jobs, reached = make(map[idle.GroupID]stamp, len(c.jobs)), c.latest
	for id, j := range c.jobs {
		jobs[id] = j.stamp
		for _, g := range j.groups {
			reached = max(reached, g.written)
		}
	}
	return jobs, reached
}

// relist takes a complete listing for the truth. It was read from the leader and after
// everything that was seen so far, so it is believed even where its indexes are lower:
// then Nomad was restored from a snapshot.
func (c *catalog) relist(l *listing, now time.Time) {
	if l.index < l.reached {
		c.forgetIndexes()
	}
	cause := "found by looking again"
	if c.index == 0 {
		cause = "found at start"
	}
	c.index, c.latest = l.index, l.index
	listed := l.same
	for i := range l.changed {
		listed[l.changed[i].id] = true
		c.putJob(&l.changed[i], cause)
		l.changed[i] = version{} // taken over: at a start all of them are here
	}
	for id := range c.jobs {
		if !listed[id] {
			c.dropJob(id, "the job was stopped, purged, or lost its scaling block")
		}
	}
	c.relistAllocations(l)
	*l = listing{} // as large as the catalog: the sink may want to have it collected
	c.sink.Resynced(now)
}

// forgetIndexes drops everything that compares with an index of before a restore.
func (c *catalog) forgetIndexes() {
	for _, j := range c.jobs {
		for _, g := range j.groups {
			g.written, g.floor, g.listed, g.lastUpAt = 0, 0, 0, 0
		}
	}
}

func (c *catalog) relistAllocations(l *listing) {
	alive := map[*group][]allocation{}
	for _, stub := range l.allocs {
		if stub == nil {
			continue
		}
		id := idle.GroupID{Namespace: stub.Namespace, Job: stub.JobID, Group: stub.TaskGroup}
		g := c.group(id)
		if g != nil && isLive(stub.DesiredStatus, stub.ClientStatus) {
			alive[g] = append(alive[g], allocationOf(stub))
		}
	}
	for _, j := range c.jobs {
		for _, g := range j.groups {
			g.relist(alive[g], l.allocsIndex, c.sink)
		}
	}
}

func allocationOf(stub *nomad.AllocationListStub) allocation {
	return allocation{
		id: stub.ID, created: stub.CreateIndex, modified: stub.ModifyIndex,
		ports: portsOf(stub.AllocatedResources),
	}
}

// jobEvent takes in one event of topic Job. What the last listing covers is no news: a new
// subscription begins with events of the past.
func (c *catalog) jobEvent(e event, j *nomad.Job, deleted bool) {
	id := idle.GroupID{Namespace: deref(j.Namespace), Job: deref(j.ID)}
	known := c.jobs[id]
	c.latest = max(c.latest, e.Index)
	switch {
	case e.Index <= c.index || known != nil && e.Index <= known.seen:
		return
	case deref(j.Stop):
		c.dropJob(id, "the job was stopped")
	case deleted:
		c.dropJob(id, "the job was purged")
	case known != nil && known.stamp == stampOf(j):
		known.seen = e.Index // only its status changed
	case known != nil || slices.ContainsFunc(j.TaskGroups, hasScaling):
		v := versionOf(j)
		v.seen = e.Index
		c.putJob(&v, "the job was registered")
	}
}

func hasScaling(tg *nomad.TaskGroup) bool { return tg != nil && tg.Scaling != nil }

// putJob takes in one version of a job.
func (c *catalog) putJob(v *version, cause string) {
	j := c.jobs[v.id]
	if j == nil {
		j = &job{}
		c.jobs[v.id] = j
	}
	j.stamp, j.seen = v.stamp, v.seen
	for _, m := range v.groups {
		c.putGroup(j, m, cause)
	}
	for _, g := range slices.Clone(j.groups) {
		if !v.has(g.id().Group) {
			c.dropGroup(j, g, v.leftAlone(g.id().Group))
		}
	}
	c.diagnose(v.id, j, v.problems)
}

func (c *catalog) putGroup(j *job, m *Managed, cause string) {
	now := setup{c.shared.take(m.Policy), slices.Clip(m.Policy.Routes), m.Max, j.created}
	g := j.group(m.ID.Group)
	if g == nil {
		g = &group{
			work: workload{c.watcher, m.ID}, setup: now,
			count: m.Count, index: j.modified, told: m.Count,
		}
		j.groups = append(j.groups, g)
		g.remember()
		c.sink.Put(g.public(), &g.work, idle.Observation{Count: g.count, Cause: cause})
		return
	}
	same := g.same(&now)
	g.setup, g.count, g.index = now, m.Count, j.modified
	g.remember()
	if same {
		g.observe(c.sink)
		return
	}
	if !g.holdsBack() {
		g.told = g.count
	}
	c.sink.Put(g.public(), &g.work, idle.Observation{Count: g.told, Cause: cause})
	g.declare(c.sink)
}

func (c *catalog) dropGroup(j *job, g *group, cause string) {
	j.groups = slices.DeleteFunc(j.groups, func(o *group) bool { return o == g })
	c.sink.Remove(g.id(), cause)
}

func (c *catalog) dropJob(id idle.GroupID, cause string) {
	j := c.jobs[id]
	if j == nil {
		return
	}
	for _, g := range slices.Clone(j.groups) {
		c.dropGroup(j, g, cause)
	}
	c.diagnose(id, j, nil)
	delete(c.jobs, id)
}

func (c *catalog) diagnose(id idle.GroupID, j *job, ds Diagnostics) {
	if !slices.Equal(ds, j.diagnostics) {
		j.diagnostics = ds
		c.sink.Diagnose(id, ds)
	}
}

// sighting is what an event tells of an allocation. There may be thousands a second, most
// of jobs that Doze does not manage, so only these fields are decoded.
type sighting struct {
	ID, Namespace, JobID, TaskGroup string
	DesiredStatus, ClientStatus     string
	CreateIndex, ModifyIndex        uint64
	AllocatedResources              *nomad.AllocatedResources
}

// allocEvent takes in one event of topic Allocation.
func (c *catalog) allocEvent(e event, a *sighting) {
	g := c.group(idle.GroupID{Namespace: a.Namespace, Job: a.JobID, Group: a.TaskGroup})
	if g == nil || e.Index <= g.listed {
		return
	}
	if isLive(a.DesiredStatus, a.ClientStatus) {
		g.put(allocation{a.ID, a.CreateIndex, a.ModifyIndex, portsOf(a.AllocatedResources)})
	} else {
		g.drop(a.ID)
	}
	g.declare(c.sink)
}
