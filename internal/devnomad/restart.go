package devnomad

import (
	"fmt"
	"math/rand/v2"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// restarts applies a restart policy to one task.
type restarts struct {
	attempts int
	interval time.Duration
	delay    time.Duration
	wait     bool // mode "delay": wait for the next interval instead of failing
	batch    bool // a clean exit is the end
	since    time.Time
	n        int
}

func newRestarts(p *nomad.RestartPolicy, jobType string) *restarts {
	if p == nil {
		p = &nomad.RestartPolicy{}
	}
	return &restarts{
		attempts: deref(p.Attempts), interval: deref(p.Interval), delay: deref(p.Delay),
		wait: deref(p.Mode) == "delay", batch: jobType == "batch" || jobType == "sysbatch",
	}
}

// next says after which delay the task starts again, if at all, and why.
func (r *restarts) next(exit Exit, now time.Time) (time.Duration, string, bool) {
	if r.batch && !exit.Failed() {
		return 0, "", false
	}
	if r.since.IsZero() || now.Sub(r.since) > r.interval {
		r.since, r.n = now, 0
	}
	r.n++
	if r.n <= r.attempts {
		return r.delay + rand.N(r.delay/4+1), "Restart within policy", true
	}
	if r.wait {
		return r.interval - now.Sub(r.since), "Exceeded allowed attempts, applying a delay", true
	}
	why := "Policy allows no restarts"
	if r.attempts > 0 {
		why = fmt.Sprintf("Exceeded allowed attempts %d in interval %v and mode is \"fail\"",
			r.attempts, r.interval)
	}
	return 0, why, false
}
