package jobs

import (
	"bytes"
	"testing"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// deaf is a Sink that only checks that a group is put before anything else is said of it.
type deaf struct {
	t   *testing.T
	put map[idle.GroupID]bool
}

func (d deaf) Put(g Group, _ idle.Workload, _ idle.Observation) { d.put[g.ID] = true }
func (d deaf) Remove(id idle.GroupID, _ string)                 { d.known(id); delete(d.put, id) }
func (d deaf) Observe(id idle.GroupID, _ idle.Observation)      { d.known(id) }
func (d deaf) Targets(id idle.GroupID, _ []healthgate.Target)   { d.known(id) }
func (d deaf) Diagnose(idle.GroupID, Diagnostics)               {}
func (d deaf) Resynced(time.Time)                               {}

func (d deaf) known(id idle.GroupID) {
	if !d.put[id] {
		d.t.Errorf("%s was never put", id)
	}
}

func FuzzStream(f *testing.F) {
	const up = `{"Index":7,"Events":[{"Topic":"Job","Type":"JobRegistered","Key":"shop",` +
		`"Namespace":"default","Index":7,"Payload":{"Job":{"ID":"shop","Namespace":"default",` +
		`"JobModifyIndex":7,"TaskGroups":[{"Name":"web","Count":1,"Networks":[{"DynamicPorts":` +
		`[{"Label":"http"}]}],"Scaling":{"Min":0,"Max":2,"Policy":{"doze":[{}]}}}]}}}]}`
	const placed = `{"Index":8,"Events":[{"Topic":"Allocation","Type":"PlanResult","Index":8,` +
		`"Payload":{"Allocation":{"ID":"a","Namespace":"default","JobID":"shop",` +
		`"TaskGroup":"web","DesiredStatus":"run","ClientStatus":"pending","CreateIndex":8,` +
		`"AllocatedResources":{"Shared":{"Ports":[{"Label":"http","Value":1}]}}}}}]}`
	const gone = `{"Index":9,"Events":[{"Topic":"Job","Type":"JobDeregistered","Index":9,` +
		`"Payload":{"Deleted":true,"Job":{"ID":"shop","Namespace":"default"}}}]}`
	f.Add([]byte("{}\n" + up + "\n" + placed + "\n" + gone))
	f.Add([]byte(up + placed + up))
	f.Add([]byte(`{"Events":[{"Topic":"Job","Index":1,"Payload":{"Job":{"TaskGroups":[null]}}}]}`))
	f.Add([]byte(`{"Events":[{"Topic":"Job","Index":1,"Payload":{"Job":null}}]} {"Events":null}`))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		c := newCatalog(nil, deaf{t, map[idle.GroupID]bool{}})
		s := &session{}
		err := readLines(bytes.NewReader(lines), func(b batch) bool {
			for _, e := range b.Events {
				act, err := s.decode(e)
				if err == nil && act != nil {
					act(c)
				}
			}
			return true
		})
		if err == nil {
			t.Error("a stream that ended gave no error")
		}
	})
}
