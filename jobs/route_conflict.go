package jobs

import (
	"fmt"

	"doze/idle"
)

// CheckRoutes reports every group that claims a route which an earlier one in ms claims.
func CheckRoutes(ms []Managed) Diagnostics {
	owners := map[string]idle.GroupID{}
	var found Diagnostics
	for _, m := range ms {
		to := &report{group: m.ID}
		at := place{GroupShape{ID: m.ID}.path(), to}.under("scaling").under("policy").
			under("doze").under("route").under("hosts")
		for _, r := range m.Policy.Routes {
			for _, host := range r.Hosts {
				owner, taken := owners[host+r.PathPrefix]
				if !taken {
					owners[host+r.PathPrefix] = m.ID
				} else if owner != m.ID {
					at.fault(fmt.Sprintf("%q with path_prefix %q is claimed by %s, too",
						host, r.PathPrefix, owner),
						"of the two, the older job keeps it; choose another host")
				}
			}
		}
		for i := range to.found {
			to.found[i].Pos = m.Pos
		}
		found = append(found, to.found...)
	}
	return found
}
