//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"time"
)

// starter is a driver with a way to collect logs.
type starter struct {
	what   string
	driver string
	noLogs bool           // Nomad does not collect them
	config map[string]any // beside the command
	base   *starter       // what it is compared with; nil: it is a base itself
	// open is from the placement to the port; answered to the first byte of an answer, since
	// the shepherd's port is open before the application is.
	open, answered samples
}

// starters are the ways to start the same application. Of doze's, each is compared with
// raw_exec doing as much for its logs.
func (b *bench) starters() []*starter {
	logged := &starter{what: "raw_exec, logs by Nomad", driver: "raw_exec"}
	silent := &starter{what: "raw_exec, no logs", driver: "raw_exec", noLogs: true}
	ours := []*starter{
		{what: "doze, logs by Nomad", driver: "doze", base: logged},
		{what: "doze, logs by the shepherd", driver: "doze", noLogs: true, base: logged,
			config: map[string]any{"logs": []map[string]any{{}}}},
		{what: "doze, no logs", driver: "doze", noLogs: true, base: silent},
	}
	if !b.d.real {
		return ours
	}
	return append([]*starter{logged, silent}, ours...)
}

// starts measures what comes after an allocation's placement.
func (b *bench) starts() {
	all := b.starters()
	for i := range b.rounds(20) {
		for j := range all {
			b.start(all[(i+j)%len(all)], fmt.Sprintf("starts-%d-%d", i, j))
		}
	}
	b.startRows("an allocation: placed → port open", all,
		func(s *starter) *samples { return &s.open })
	b.startRows("an allocation: placed → first byte of an answer", all,
		func(s *starter) *samples { return &s.answered })
}

func (b *bench) startRows(title string, all []*starter, of func(*starter) *samples) {
	var rows, ratios []row
	for _, s := range all {
		rows = append(rows, row{what: s.what, samples: of(s)})
		if b.d.real && s.base != nil {
			ratios = append(ratios, row{what: s.what + " ÷ raw_exec",
				samples: of(s).against(of(s.base), "×", ratio), goal: "p50 ≤ 0.5 ×",
				met: func(s *samples) bool { return s.p50() <= 0.5 }})
		}
	}
	b.table.add(title, append(rows, ratios...)...)
}

// start starts and ends one job.
func (b *bench) start(s *starter, id string) {
	b.Helper()
	config := map[string]any{"command": b.app}
	if s.driver == "doze" {
		config["listen"] = "http"
	}
	maps.Copy(config, s.config)
	job := drivenJob{id: id, noLogs: s.noLogs, config: config}
	placed, conn := b.d.firstConn(job, s.driver)
	s.open.took(time.Since(placed))
	ask(b, conn)
	s.answered.took(firstByteOf(b, conn, placed))
	fail(b, conn.Close())
	b.purge(id)
}

// purge ends a job, so that it takes nothing from what is measured next.
func (b *bench) purge(id string) {
	b.Helper()
	alloc := b.d.alloc(id)
	_, _, err := b.d.client.Jobs().Deregister(id, true, b.d.write())
	fail(b, err)
	b.d.await(id+" to end", func() error { return noneOf(processesOf(b, alloc.ID)) })
}
