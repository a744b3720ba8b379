package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"doze/api/wire"
	"doze/idle"
)

// listGroups answers GET /v1/groups.
func (c *control) listGroups(w http.ResponseWriter, r *call) error {
	// The position is read first: a change that comes in between is in the list and in the
	// events after it, never in neither.
	position := c.Journal.Position()
	groups, err := c.readable(r)
	if err != nil {
		return err
	}
	list := groupList{groups: groups, states: r.args, position: position,
		diagnostics: indexDiagnostics(c.Diagnostics()), now: time.Now()}
	w.Header().Set("Content-Type", "application/json")
	return list.write(w)
}

// readable lists the groups that pass the filters by name and that the caller may read, in
// the order of their names.
func (c *control) readable(r *call) ([]*idle.Group, error) {
	var list []*idle.Group
	for _, g := range c.Loop.Groups() {
		if !r.args.matches(wire.ID(g.ID())) {
			continue
		}
		may, err := c.mayRead(r, g.ID())
		if err != nil {
			return nil, err
		}
		if may {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *idle.Group) int {
		return compareIDs(wire.ID(a.ID()), wire.ID(b.ID()))
	})
	return list, nil
}

func compareIDs(a, b wire.ID) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Job, b.Job),
		cmp.Compare(a.Group, b.Group))
}

// mayRead says whether a listing or a stream may show the group; an error means that nobody
// can tell.
func (c *control) mayRead(r *call, id idle.GroupID) (bool, error) {
	err := c.authorize(r.Context(), r.Request, Read, id)
	if errors.Is(err, ErrForbidden) {
		return false, nil
	}
	return err == nil, err
}

// readGroup answers GET /v1/groups/{namespace}/{job}/{group}.
func (c *control) readGroup(w http.ResponseWriter, r *call) error {
	detail := wire.GroupDetail{
		Group:   c.view(r.group),
		Targets: viewTargets(r.group.Gate().Members()),
		History: []wire.Transition{},
	}
	for _, t := range r.group.Status().History {
		detail.History = append(detail.History, viewTransition(t))
	}
	return writeJSON(w, http.StatusOK, detail)
}

// view is the group as it is now.
func (c *control) view(g *idle.Group) wire.Group {
	diagnostics := indexDiagnostics(c.Diagnostics())
	return viewGroup(g.Status(), diagnostics.of(g.ID()), time.Now())
}

// listDiagnostics answers GET /v1/diagnostics.
func (c *control) listDiagnostics(w http.ResponseWriter, r *call) error {
	list := wire.DiagnosticList{Diagnostics: []wire.Diagnostic{}}
	for _, d := range c.Diagnostics() {
		readable, err := c.mayRead(r, diagnosed(d))
		if err != nil {
			return err
		}
		if readable {
			list.Diagnostics = append(list.Diagnostics, d)
		}
	}
	slices.SortStableFunc(list.Diagnostics, func(a, b wire.Diagnostic) int {
		return compareIDs(wire.ID(diagnosed(a)), wire.ID(diagnosed(b)))
	})
	return writeJSON(w, http.StatusOK, list)
}

// diagnosed names what a diagnostic is about; without Group it is the whole job.
func diagnosed(d wire.Diagnostic) idle.GroupID {
	return idle.GroupID{Namespace: d.Namespace, Job: d.Job, Group: d.Group}
}

// diagnosticIndex finds the diagnostics of a group, and those of its whole job.
type diagnosticIndex map[idle.GroupID][]wire.Diagnostic

func indexDiagnostics(all []wire.Diagnostic) diagnosticIndex {
	index := make(diagnosticIndex, len(all))
	for _, d := range all {
		index[diagnosed(d)] = append(index[diagnosed(d)], d)
	}
	return index
}

func (x diagnosticIndex) of(id idle.GroupID) []wire.Diagnostic {
	whole := idle.GroupID{Namespace: id.Namespace, Job: id.Job}
	return append(append([]wire.Diagnostic{}, x[id]...), x[whole]...)
}
