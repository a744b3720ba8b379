package shepherd

import (
	"context"
	"fmt"
	"sync"
	"time"

	"doze/driver/shepherd/cgroup"
	"doze/idle"
)

const (
	// limitsAgain is how often at most a task's limits are looked at.
	limitsAgain = time.Second
	// limitsEvery is how often, while it is awake, where the kernel does not tell.
	limitsEvery = 5 * time.Second
)

// limitHits are the times that a task has run into its limits, as far as they have been told.
type limitHits struct {
	mu                  sync.Mutex
	forksRefused, kills uint64
}

// begin counts from now on: a cgroup may have a life behind it.
func (h *limitHits) begin(g *cgroup.Group) {
	h.forksRefused, h.kills = g.ForksRefused(), g.OOMKills()
}

// watchLimits tells when the task runs into a limit: it often does not say so itself.
func (t *task) watchLimits(ctx context.Context) error {
	alarm, err := t.cgroups.OpenAlarm()
	if err != nil {
		t.log.Warn("the kernel does not tell of the task's limits", "err", err)
	}
	if alarm != nil {
		defer context.AfterFunc(ctx, func() { _ = alarm.Close() })() // of what is only read
		defer alarm.Close()
	}
	for {
		t.tellLimits()
		every := limitsEvery
		if alarm != nil {
			if alarm.Wait() != nil {
				return nil
			}
			every = limitsAgain
		}
		if !t.awaitDepth(ctx, isAwake) || !pause(ctx, every) {
			return nil
		}
	}
}

func isAwake(d idle.Depth) bool { return d == idle.Awake }

// tellLimits tells what has happened since it was called before.
func (t *task) tellLimits() {
	t.hits.mu.Lock()
	defer t.hits.mu.Unlock()
	limits := t.spec.Cgroup.Limits
	if n := t.cgroups.ForksRefused(); n > t.hits.forksRefused {
		t.hits.forksRefused = n
		t.journal.add(time.Now(), Event{Kind: EventLimit, Message: fmt.Sprintf("it has reached "+
			"its limit of %d processes and threads (pids_limit) and may not start another",
			limits.Pids)})
	}
	if n := t.cgroups.OOMKills(); n > t.hits.kills {
		t.hits.kills = n
		t.journal.add(time.Now(), Event{Kind: EventOOM, Message: "out of memory: the kernel has " +
			"killed a process of the task" + ofMemory(limits.MemoryBytes)})
	}
}

// ofMemory names a limit; 0: none is known.
func ofMemory(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	return fmt.Sprintf(", at its limit of %d MiB", bytes>>20)
}
