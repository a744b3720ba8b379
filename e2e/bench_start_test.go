//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"time"
)

// starts measures what comes after an allocation's placement: until its port is open, and
// until the first byte of an answer, since the shepherd's port is open before the application
// is.
func (b *bench) starts() {
	ways := newStarts()
	all := ways.all()
	if !b.d.real {
		all = []*start{ways.silent, ways.keeping, ways.logged}
	}
	for _, s := range all {
		config := map[string]any{"command": b.app}
		maps.Copy(config, s.job.config)
		s.job.config = config
	}
	for i := range b.rounds(20) {
		for j := range all {
			s := all[(i+j)%len(all)]
			s.job.id = fmt.Sprintf("starts-%d-%d", i, j)
			b.d.timeStart(s)
			b.purge(s.job.id)
		}
	}
	b.startRows("an allocation: placed → port open", ways,
		func(s *start) []time.Duration { return s.opened })
	b.startRows("an allocation: placed → first byte of an answer", ways,
		func(s *start) []time.Duration { return s.answered })
}

// startRows has each of ours beside raw_exec doing as much for its logs.
func (b *bench) startRows(title string, ways *starts, of func(*start) []time.Duration) {
	var rows []row
	took := map[*start]*samples{}
	for _, s := range ways.all() {
		if took[s] = new(samples); len(of(s)) == 0 {
			continue // there is no raw_exec
		}
		for _, d := range of(s) {
			took[s].took(d)
		}
		rows = append(rows, row{what: s.driver + ", logs by " + s.logs, samples: took[s]})
	}
	for _, pair := range [][2]*start{
		{ways.silent, ways.rawSilent}, {ways.keeping, ways.rawLogged}, {ways.logged, ways.rawLogged},
	} {
		if ours, theirs := pair[0], pair[1]; len(took[theirs].of) > 0 {
			rows = append(rows, row{goal: "p50 ≤ 0.5 ×",
				what:    fmt.Sprintf("doze, logs by %s ÷ raw_exec, logs by %s", ours.logs, theirs.logs),
				samples: took[ours].against(took[theirs], "×", ratio),
				met:     func(s *samples) bool { return s.p50() <= 0.5 }})
		}
	}
	b.table.add(title, rows...)
}

// purge ends a job, so that it takes nothing from what is measured next.
func (b *bench) purge(id string) {
	b.Helper()
	alloc := b.d.alloc(id)
	_, _, err := b.d.client.Jobs().Deregister(id, true, b.d.write())
	fail(b, err)
	b.d.await(id+" to end", func() error { return noneOf(processesOf(b, alloc.ID)) })
}
