package drivertest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// killedBetweenCalls lives as many lives as there are calls: in each the plugin is killed
// after another one of them.
func killedBetweenCalls(t *testing.T, s Subject) {
	whole := newLife(t, s)
	calls := whole.calls()
	whole.do(calls...)
	goroutines := runtime.NumGoroutine()
	for i, c := range calls {
		if strings.HasPrefix(c.name, "end ") {
			continue // there is no process to kill
		}
		name := fmt.Sprintf("%02d_%s", i+1, strings.NewReplacer(" ", "_", ",", "").Replace(c.name))
		t.Run(name, func(t *testing.T) {
			l := newLife(t, s)
			calls := l.calls()
			l.do(calls[:i+1]...)
			l.crash()
			l.do(calls[l.goOn(i, calls):]...)
			l.sameEnd(t, whole)
		})
	}
	if !eventually(func() bool { return runtime.NumGoroutine() <= goroutines }) {
		t.Errorf("of an agent are left %d goroutines", runtime.NumGoroutine()-goroutines)
	}
}

// sameEnd compares with the life in which nothing was killed. A task that a plugin could not
// recover has to have been stopped before.
func (l *life) sameEnd(t *testing.T, whole *life) {
	t.Helper()
	if l.lost != nil && l.exit == whole.exit {
		return // it was waited for before
	}
	if l.lost != nil && !l.subject.Forgetful {
		t.Errorf("the task was lost: %v", l.lost)
	}
	if l.exit != whole.exit && !l.subject.Forgetful {
		t.Errorf("the task ended with %+v, without a kill it is %+v", l.exit, whole.exit)
	}
	if left := len(l.Handles()); left != 0 {
		t.Errorf("the agent has %d tasks left", left)
	}
}
