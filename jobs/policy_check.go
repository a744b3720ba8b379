package jobs

import (
	"fmt"
	"slices"
	"strings"
)

// policyCheck looks for what only the whole shows: contradictions between settings, and
// between the block and the job around it. Every check reports on its own.
type policyCheck struct {
	policy *Policy
	shape  GroupShape
	top    place // the group
	block  block // the doze block; no keys where it could not be read
}

func (c policyCheck) run() {
	c.jobType()
	c.bounds()
	c.wakeCount()
	c.port()
	c.deadline()
	c.hosts()
}

// jobType refuses what Nomad would clean away or run on its own terms.
func (c policyCheck) jobType() {
	job := place{"job", c.top.to}
	switch t := c.shape.JobType; t {
	case "", "service":
	case "batch", "sysbatch":
		job.under("type").fault(fmt.Sprintf("%q jobs cannot sleep", t),
			"Nomad garbage-collects them at count 0; use a service job")
	default:
		job.under("type").fault(fmt.Sprintf("%q jobs cannot sleep", t), "use a service job")
	}
	if c.shape.Periodic {
		job.under("periodic").fault("a periodic job cannot sleep", "use a service job")
	}
	if c.shape.Parameterized {
		job.under("parameterized").fault("a parameterized job cannot sleep",
			"use a service job")
	}
}

// bounds checks scaling.min and scaling.max.
func (c policyCheck) bounds() {
	scaling := c.top.under("scaling")
	if c.shape.Min != 0 {
		scaling.under("min").fault(fmt.Sprintf("is %d, so the group cannot sleep", c.shape.Min),
			"write min = 0 (left out, it is the group's count)")
	}
	if c.shape.Max < 1 {
		scaling.under("max").fault(fmt.Sprintf("is %d, so the group cannot wake", c.shape.Max),
			"write max = 1 or more")
	}
}

func (c policyCheck) wakeCount() {
	if most := c.shape.Max; most >= 1 && c.policy.WakeCount > most {
		c.block.at.under("wake_count").fault(
			fmt.Sprintf("%d is more than scaling.max, which is %d", c.policy.WakeCount, most),
			"lower it or raise max")
	}
}

// port finds the port that serves requests.
func (c policyCheck) port() {
	ports, at := c.shape.Ports, c.block.at.under("port")
	switch _, named := c.block.keys["port"]; {
	case len(ports) == 0:
		c.top.under("network").fault("the group has no port, so no request can reach it",
			`add network { port "http" {} }`)
	case c.policy.Port != "" && !slices.Contains(ports, c.policy.Port):
		at.fault(fmt.Sprintf("the group has no port %q", c.policy.Port),
			didYouMean(c.policy.Port, ports))
	case named:
	case len(ports) > 1:
		at.fault(fmt.Sprintf("the group has several ports (%s) and none is named",
			strings.Join(ports, ", ")), fmt.Sprintf("write port = %q", ports[0]))
	default:
		c.policy.Port = ports[0]
	}
}

// deadline keeps the wake timeout the one that wins: a second one that is never reached, or
// that uses it up before a target can be ready, is a mistake.
func (c policyCheck) deadline() {
	p := c.policy
	if p.DrainDelay >= p.WakeTimeout {
		c.block.at.under("drain_delay").fault(
			fmt.Sprintf("%s is not shorter than wake_timeout (%s)", p.DrainDelay, p.WakeTimeout),
			"a request that comes meanwhile has wake_timeout in all; shorten it")
	}
	if p.Probe == nil {
		return
	}
	probe := c.block.at.under("probe").under(p.Probe.Kind)
	if p.Probe.InitialDelay >= p.WakeTimeout {
		probe.under("initial_delay").fault(
			fmt.Sprintf("%s is not shorter than wake_timeout (%s), so no wake could succeed",
				p.Probe.InitialDelay, p.WakeTimeout), "shorten it or raise wake_timeout")
	}
	if p.Probe.Timeout > p.WakeTimeout {
		probe.under("timeout").fault(
			fmt.Sprintf("%s is longer than wake_timeout (%s)", p.Probe.Timeout, p.WakeTimeout),
			"shorten it or raise wake_timeout")
	}
}

// hosts reports a host that the group claims twice under one path prefix.
func (c policyCheck) hosts() {
	seen := map[string]bool{}
	for _, r := range c.policy.Routes {
		for _, host := range r.Hosts {
			key := host + r.PathPrefix
			if seen[key] {
				c.block.at.under("route").under("hosts").fault(
					fmt.Sprintf("%q is claimed twice for path_prefix %q", host, r.PathPrefix),
					"keep one")
			}
			seen[key] = true
		}
	}
}
