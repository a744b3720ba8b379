package devnomad

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// problems are worded and joined as Nomad's multi-errors are.
type problems []error

func (p *problems) addf(format string, args ...any) {
	*p = append(*p, fmt.Errorf(format, args...))
}

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	var b strings.Builder
	if len(p) == 1 {
		b.WriteString("1 error occurred:\n")
	} else {
		fmt.Fprintf(&b, "%d errors occurred:\n", len(p))
	}
	for _, e := range p {
		fmt.Fprintf(&b, "\t* %v\n", e)
	}
	b.WriteString("\n")
	return errors.New(b.String())
}

// validate refuses the jobs that Nomad refuses, of the kinds that matter here.
func validate(j *nomad.Job) error {
	var p problems
	switch id := *j.ID; {
	case id == "":
		p.addf("Missing job ID")
	case strings.Contains(id, " "):
		p.addf("Job ID contains a space")
	case strings.Contains(id, "\000"):
		p.addf("Job ID contains a null character")
	}
	switch *j.Type {
	case "service", "batch", "system", "sysbatch":
	default:
		p.addf("Invalid job type: %q", *j.Type)
	}
	if *j.Priority < 1 || *j.Priority > 100 {
		p.addf("job priority must be between [1, 100]")
	}
	if len(j.TaskGroups) == 0 {
		p.addf("Missing job task groups")
	}
	validateGroupNames(j, &p)
	for _, g := range j.TaskGroups {
		if err := validateGroup(j, g); err != nil {
			p.addf("Task group %s validation failed: %v", deref(g.Name), err)
		}
	}
	return p.err()
}

func validateGroupNames(j *nomad.Job, p *problems) {
	seen := map[string]int{}
	for i, g := range j.TaskGroups {
		name := deref(g.Name)
		if name == "" {
			p.addf("Job task group %d missing name", i+1)
		} else if was, ok := seen[name]; ok {
			p.addf("Job task group %d redefines '%s' from group %d", i+1, name, was+1)
		} else {
			seen[name] = i
		}
		if *j.Type == "system" && *g.Count > 1 {
			p.addf("Job task group %s has count %d. Count cannot exceed 1 with system scheduler",
				name, *g.Count)
		}
	}
}

func validateGroup(j *nomad.Job, g *nomad.TaskGroup) error {
	var p problems
	if *g.Count < 0 {
		p.addf("Task group count can't be negative")
	}
	if len(g.Tasks) == 0 {
		p.addf("Missing tasks for task group")
	}
	if err := validatePorts(g); err != nil {
		p.addf("Task group network validation failed: %v", err)
	}
	if err := validateScaling(g); err != nil {
		p.addf("Task group scaling policy validation failed: %v", err)
	}
	seen := map[string]int{}
	for i, t := range g.Tasks {
		if was, ok := seen[t.Name]; ok {
			p.addf("Task %d redefines '%s' from task %d", i+1, t.Name, was+1)
		}
		seen[t.Name] = i
		if t.Driver == "" {
			var q problems
			q.addf("Missing task driver")
			p.addf("Task %s validation failed: %v", t.Name, q.err())
		}
	}
	return p.err()
}

func validatePorts(g *nomad.TaskGroup) error {
	var p problems
	labels := map[string]bool{}
	for _, n := range g.Networks {
		for _, port := range append(append([]nomad.Port{}, n.ReservedPorts...), n.DynamicPorts...) {
			if labels[port.Label] {
				p.addf("Port label %s already in use", port.Label)
			}
			labels[port.Label] = true
		}
	}
	return p.err()
}

// validateScaling checks the bounds of a scaling block against each other and
// against the group's count.
func validateScaling(g *nomad.TaskGroup) error {
	s := g.Scaling
	if s == nil {
		return nil
	}
	const invalid = "Scaling policy invalid: "
	var p problems
	lo, hi := deref(s.Min), int64(-1)
	if s.Max != nil {
		hi = *s.Max
	}
	switch {
	case hi < 0:
		p.addf(invalid + "maximum count must be specified and non-negative")
	case hi < lo:
		p.addf(invalid + "maximum count must not be less than minimum count")
	}
	if lo < 0 {
		p.addf(invalid + "minimum count must be specified and non-negative")
	}
	if n := int64(*g.Count); n > hi {
		p.addf(invalid + "task group count must not be greater than maximum count in scaling policy")
	} else if n < lo {
		p.addf(invalid + "task group count must not be less than minimum count in scaling policy")
	}
	return p.err()
}

// serveValidate serves PUT /v1/validate/job.
func (c *Cluster) serveValidate(_ http.ResponseWriter, r *http.Request) (any, error) {
	var req nomad.JobValidateRequest
	if err := decode(r, &req); err != nil {
		return nil, err
	}
	if req.Job == nil || req.Job.ID == nil {
		return nil, fail(http.StatusBadRequest, "Job must be specified")
	}
	canonicalize(req.Job, c.cfg.Region)
	out := nomad.JobValidateResponse{DriverConfigValidated: true, Warnings: warnings(req.Job)}
	if err := validate(req.Job); err != nil {
		out.Error, out.ValidationErrors = err.Error(), []string{err.Error()}
	}
	return out, nil
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
