package jobs

import (
	"time"

	"doze/healthgate"
)

// Policy is one group's scaling.policy.doze block with every default filled in. It is
// complete and valid when ParsePolicy returned it without a Diagnostic.
type Policy struct {
	IdleAfter   time.Duration // idle for this long: put to sleep; default 15m
	MinAwake    time.Duration // least time from ready to the next sleep; default 0s
	WakeTimeout time.Duration // bounds one wake and the holding of a request; default 60s
	DrainDelay  time.Duration // gate shut, Nomad not told yet; default 0s

	// WakeCount is the count a wake asks for; 0: the count before the last sleep, else the
	// job's, at least 1. Use Clamp on whatever it is taken from.
	WakeCount int
	Port      string // label of the port that serves requests
	Waiting   string // auto (default), hold, page or reject
	OnTimeout string // closed (default) or open
	MaxHeld   int    // requests held at once for this group; default 1024

	Routes []Route // none: nothing but a command wakes the group
	// Probe is never nil in a parsed policy: the block's own, else the group's service
	// check for Port, else tcp.
	Probe  *healthgate.ProbeConfig
	Ignore Ignore
}

//go:generate go test -count=1 -run ^TestPolicyReference_docsPage . -policy.update

// ParsePolicy reads a doze block in the shape that Nomad's API returns it (or a plain map,
// as JSON jobs may write it), checks it against the group, and fills in the defaults.
// The Policy is usable only without Diagnostics. It never panics.
func ParsePolicy(doze any, g GroupShape) (Policy, Diagnostics) {
	to := &report{group: g.ID}
	top := place{g.path(), to}
	p := Policy{
		IdleAfter:   15 * time.Minute,
		WakeTimeout: 60 * time.Second,
		Waiting:     "auto",
		OnTimeout:   "closed",
		MaxHeld:     1024,
	}
	b, ok := oneBlock(top.under("scaling").under("policy").under("doze"), doze)
	if ok {
		policySchema(&p).read(b)
	}
	check := policyCheck{policy: &p, shape: g, top: top, block: b}
	check.run()
	if p.Probe == nil {
		p.Probe = defaultProbe(g.Services, p.Port)
	}
	return p, to.found
}

// Clamp returns count within 1 and most: what a wake may ask for. A most below 1 counts
// as 1.
func Clamp(count, most int) int {
	return max(1, min(count, most))
}

// shortest is the least idle_after and wake_timeout: below it a group would do nothing but
// fall asleep and wake.
const shortest = 100 * time.Millisecond

// PolicyKeys returns the keys of a doze block, its blocks among them.
func PolicyKeys() []string { return policySchema(new(Policy)).names() }

// policySchema is the doze block.
func policySchema(p *Policy) schema {
	return schema{
		{"idle_after", durationValue{&p.IdleAfter, shortest}, `"15m"`,
			"Put the group to sleep when no request has been in flight for this long."},
		{"min_awake", durationValue{&p.MinAwake, 0}, `"0s"`,
			"Least time between becoming ready and the next sleep. It matters only where " +
				"it is longer than `idle_after`."},
		{"wake_timeout", durationValue{&p.WakeTimeout, shortest}, `"60s"`,
			"The one deadline of a wake and of the requests held for it, counted from a " +
				"request's arrival."},
		{"wake_count", numberValue{&p.WakeCount, 1, maxCount}, "see text",
			"The count to wake with, at most `scaling.max`. Left out: the count before the " +
				"last sleep, else the job's, at least 1."},
		{"drain_delay", durationValue{&p.DrainDelay, 0}, `"0s"`,
			"How long the gate stays shut before Nomad is told; a request in that time " +
				"takes the group back to ready at once."},
		{"port", textValue{to: &p.Port, check: notEmpty}, "the group's only port",
			"Label of the port that serves requests. Required where the group has several."},
		{"waiting", textValue{to: &p.Waiting,
			choices: []string{"auto", "hold", "page", "reject"}}, `"auto"`,
			"What a request gets while the group wakes: `hold` keeps it waiting; `page` " +
				"shows browsers a page that reloads itself; `reject` answers 503; `auto` " +
				"holds for 1.5 s, then shows browsers the page and goes on holding the rest."},
		{"on_timeout", textValue{to: &p.OnTimeout,
			choices: []string{"closed", "open"}}, `"closed"`,
			"At the wake timeout: `closed` answers 503; `open` admits to any target that " +
				"exists, verified or not."},
		{"max_held", numberValue{&p.MaxHeld, 1, 1 << 20}, "1024",
			"Requests held at once for this group; one more gets 503."},
		{"route", routesValue{&p.Routes}, "none",
			"Which requests belong to the group. May be repeated. Without one, nothing but " +
				"a command wakes the group."},
		{"probe", probeValue{&p.Probe}, "see text",
			"How a target shows that it is ready. Left out: the group's own service check " +
				"for the port (http, then grpc, then tcp), else `tcp`."},
		{"ignore", ignoreValue{&p.Ignore}, "none",
			"Requests that never wake the group and never count as activity."},
	}
}

// maxCount is more allocations than a group ever has.
const maxCount = 1 << 20
