package shepherd

import (
	"slices"
	"strings"
	"time"
)

// refused says what of the task's isolation the machine did not allow.
func (t *task) refused() []string {
	return slices.Concat(t.cgroups.Missing(), t.spawner.missing)
}

// tellExposed tells, once in a shepherd's life, that the task runs with less between it and
// the machine than it was meant to have. It runs all the same: in many a container a
// namespace of its own is not to be had.
func (t *task) tellExposed(missing []string) {
	if len(missing) == 0 {
		return
	}
	words := strings.ReplaceAll(strings.Join(missing, "; "), "\n", "; ")
	t.journal.add(time.Now(), Event{Kind: EventExposed, Message: "not fully isolated: " + words +
		". The agent has to be root, with CAP_SYS_ADMIN and cgroups that it may write to"})
}
