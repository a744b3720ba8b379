package api

import (
	"fmt"
	"net/http"
	"regexp"
	"time"

	"doze/api/wire"
)

// leaseName is what a lease may be called; it ends up in URLs, logs and a job's meta.
var leaseName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// keepAwake answers PUT …/lease/{name}.
func (c *control) keepAwake(w http.ResponseWriter, r *call) error {
	name, p := r.leaseName()
	if p != nil {
		return p
	}
	lasts, given := r.args.durations["for"]
	if !given {
		lasts = defaultLease
	}
	until, err := r.group.KeepAwake(r.Context(), name, time.Now().Add(lasts))
	if err != nil {
		return c.commandError(r, err)
	}
	warnings := c.saving.save(r.Context(), r.group)
	return writeJSON(w, http.StatusOK, wire.LeaseOutcome{
		Name: name, Until: wire.Time{Time: until}, Group: c.view(r.group), Warnings: warnings,
	})
}

// dropLease answers DELETE …/lease/{name}.
func (c *control) dropLease(w http.ResponseWriter, r *call) error {
	name, p := r.leaseName()
	if p != nil {
		return p
	}
	dropped, err := r.group.DropLease(r.Context(), name)
	if err != nil {
		return c.commandError(r, err)
	}
	var warnings []string
	if dropped {
		warnings = c.saving.save(r.Context(), r.group)
	}
	return writeJSON(w, http.StatusOK, wire.LeaseOutcome{
		Name: name, Dropped: dropped, Group: c.view(r.group), Warnings: warnings,
	})
}

func (r *call) leaseName() (string, *wire.Problem) {
	name := r.vars["name"]
	if !leaseName.MatchString(name) {
		return "", wrongParameter("name", fmt.Sprintf("%q cannot be the name of a lease", name),
			"use 1 to 64 letters, digits and . _ @ -, beginning with a letter or a digit")
	}
	return name, nil
}
