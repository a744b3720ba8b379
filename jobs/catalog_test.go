package jobs

import (
	"fmt"
	"slices"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/healthgate"
	"doze/idle"
)

// teller keeps what it is told, for the events that come late: an embedded cluster sends
// them too soon.
type teller struct{ lines []string }

func (s *teller) add(id idle.GroupID, format string, args ...any) {
	s.lines = append(s.lines, id.Group+" "+fmt.Sprintf(format, args...))
}

func (s *teller) Put(g Group, _ idle.Workload, o idle.Observation) { s.add(g.ID, "put %d", o.Count) }
func (s *teller) Remove(id idle.GroupID, _ string)                 { s.add(id, "remove") }
func (s *teller) Observe(id idle.GroupID, o idle.Observation)      { s.add(id, "observe %d", o.Count) }
func (s *teller) Targets(id idle.GroupID, ts []healthgate.Target)  { s.add(id, "targets %d", len(ts)) }
func (s *teller) Diagnose(idle.GroupID, Diagnostics)               {}
func (s *teller) Resynced(time.Time)                               {}

// jobAt is a job with one managed group, as it was at an index.
func jobAt(index uint64, count int) *nomad.Job {
	return &nomad.Job{
		ID: new("shop"), Namespace: new("default"), CreateIndex: new(uint64(1)),
		ModifyIndex: &index, JobModifyIndex: &index,
		TaskGroups: []*nomad.TaskGroup{{
			Name: new("web"), Count: &count,
			Networks: []*nomad.NetworkResource{{DynamicPorts: []nomad.Port{{Label: "http"}}}},
			Scaling: &nomad.ScalingPolicy{
				Min: new(int64(0)), Max: new(int64(5)),
				Policy: map[string]any{"doze": []any{map[string]any{}}},
			},
		}},
	}
}

func allocAt(index uint64) *sighting {
	return &sighting{
		ID: fmt.Sprintf("alloc-%d", index), Namespace: "default", JobID: "shop",
		TaskGroup: "web", DesiredStatus: "run", ClientStatus: "pending",
		CreateIndex: index, ModifyIndex: index,
		AllocatedResources: &nomad.AllocatedResources{Shared: nomad.AllocatedSharedResources{
			Ports: []nomad.PortMapping{{Label: "http", Value: 80, HostIP: "10.0.0.7"}},
		}},
	}
}

// woken is a catalog with a group that Doze has just woken at index 20.
func woken(t *testing.T) (*catalog, *group, *teller) {
	t.Helper()
	s := &teller{}
	c := newCatalog(nil, s)
	c.jobEvent(event{Index: 10}, jobAt(10, 0), false)
	g := c.group(idle.GroupID{Namespace: "default", Job: "shop", Group: "web"})
	if g == nil {
		t.Fatal("not managed")
	}
	g.settle(asked{count: 2, index: 20, wrote: true}, s)
	s.lines = nil
	return c, g, s
}

func (s *teller) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.lines, want) {
		t.Errorf("told %q, want %q", s.lines, want)
	}
	s.lines = nil
}

// Mutation: compare nothing with the index of Doze's own write, and this fails.
func TestCatalog_eventOlderThanOwnWrite_isNoNews(t *testing.T) {
	c, _, s := woken(t)
	c.jobEvent(event{Index: 15}, jobAt(15, 0), false)
	s.expect(t)
	c.jobEvent(event{Index: 20}, jobAt(20, 2), false)
	s.expect(t)
	c.jobEvent(event{Index: 30}, jobAt(30, 1), false)
	s.expect(t, "web observe 1")
}

// Mutation: compare nothing with the index of the wake's own look, and this fails.
func TestCatalog_allocationOlderThanTheWakesLook_isNoNews(t *testing.T) {
	c, g, s := woken(t)
	c.allocEvent(event{Index: 21}, allocAt(21))
	s.expect(t, "web targets 1")
	g.arrive(nil, 30, false, s) // it has failed meanwhile
	s.expect(t, "web targets 0")
	c.allocEvent(event{Index: 22}, allocAt(21))
	s.expect(t)
	c.allocEvent(event{Index: 31}, allocAt(31))
	s.expect(t, "web targets 1")
}

func TestCatalog_allocationOlderThanTheWake_isNoTarget(t *testing.T) {
	c, _, s := woken(t)
	c.allocEvent(event{Index: 22}, allocAt(12))
	s.expect(t)
}

// A listing that was read before Doze's own write, and arrives after it, is not told.
func TestCatalog_listingOlderThanOwnWrite_isNoNews(t *testing.T) {
	c, g, s := woken(t)
	g.asking = true
	g.settle(asked{count: 0, index: 40, wrote: true}, s)
	c.relist(&listing{
		reached: 10, index: 35, allocsIndex: 35, same: map[idle.GroupID]bool{},
		changed: []version{versionOf(jobAt(20, 2))},
	}, time.Time{})
	s.expect(t)
	if g.written != 40 {
		t.Errorf("the own write was forgotten: %d", g.written)
	}
}
