//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// start is a way to start the same application, and how long it took, round by round.
type start struct {
	driver, logs     string // logs: who collects them
	job              drivenJob
	opened, answered []time.Duration
}

// starts are the ways to start it: under raw_exec, and under the driver with each way to
// collect logs.
type starts struct{ rawLogged, rawSilent, logged, keeping, silent *start }

func newStarts() *starts {
	return &starts{
		rawLogged: &start{driver: "raw_exec", logs: "Nomad"},
		rawSilent: &start{driver: "raw_exec", logs: "nobody", job: drivenJob{noLogs: true}},
		logged: &start{driver: "doze", logs: "Nomad",
			job: drivenJob{config: map[string]any{"listen": "http"}}},
		keeping: &start{driver: "doze", logs: "the shepherd", job: drivenJob{noLogs: true,
			config: map[string]any{"listen": "http", "logs": []map[string]any{{}}}}},
		silent: &start{driver: "doze", logs: "nobody",
			job: drivenJob{noLogs: true, config: map[string]any{"listen": "http"}}},
	}
}

// all has what is compared side by side.
func (s *starts) all() []*start {
	return []*start{s.rawSilent, s.silent, s.rawLogged, s.keeping, s.logged}
}

// testPortOpen: from the allocation's placement a task's port is open much sooner than under
// raw_exec, on the same agent, with whatever of ours collects its logs: the goal is half of the
// time, which the benchmark measures, and the bounds here leave room for a busy machine. Where
// Nomad does that for both it is more: the process that it starts for that, before any driver
// is asked, is most of either.
//
// The shepherd's port is open before the application is: hence the first byte of an answer too,
// which has the application's own start in it, ten milliseconds for this one and the same for
// both.
func testPortOpen(t *testing.T, d *driven) {
	// Of many jobs that are purged at once Nomad 1.6.10 gives ports away before it has ended
	// their tasks: all have to be gone before others come.
	t.Cleanup(func() { d.awaitNothing(nil) })
	ways := newStarts()
	all := ways.all()
	for round := range 15 {
		for way, s := range all {
			s.job.id = fmt.Sprintf("speed-%d-%d", way, round)
			d.timeStart(s)
		}
	}
	for _, s := range all {
		t.Logf("%-8s logs by %-12s  placed to port open %s, to the first byte %s", s.driver, s.logs,
			median(s.opened).Round(time.Millisecond), median(s.answered).Round(time.Millisecond))
	}
	ways.silent.takesAtMost(t, ways.rawSilent, 0.7, 1)
	ways.keeping.takesAtMost(t, ways.rawLogged, 0.5, 0.75)
	ways.logged.takesAtMost(t, ways.rawLogged, 1, 1)
}

// takesAtMost bounds what a start takes as a share of what another one takes.
func (s *start) takesAtMost(t *testing.T, other *start, opened, answered float64) {
	t.Helper()
	open, answer := share(s.opened, other.opened), share(s.answered, other.answered)
	t.Logf("%s with logs by %s takes %.2f of %s with logs by %s, to the first byte %.2f",
		s.driver, s.logs, open, other.driver, other.logs, answer)
	if open > opened || answer > answered {
		t.Errorf("that is more than %.2f or, to the first byte, %.2f", opened, answered)
	}
}

// share is the median of the rounds' ratios: what else the machine does in a round makes both
// slower.
func share(ours, theirs []time.Duration) float64 {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = float64(ours[i]) / float64(theirs[i])
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// timeStart starts the job and takes the time.
func (d *driven) timeStart(s *start) {
	d.t.Helper()
	placed, conn := d.firstConn(s.job, s.driver)
	s.opened = append(s.opened, time.Since(placed))
	_, err := fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
	fail(d.t, err)
	_, err = conn.Read(make([]byte, 1))
	fail(d.t, err)
	s.answered = append(s.answered, time.Since(placed))
	fail(d.t, conn.Close())
}

// firstConn starts a job under a driver. It returns when the job was placed, and the first
// connection that its port took.
func (d *driven) firstConn(job drivenJob, driver string) (placed time.Time, conn net.Conn) {
	d.t.Helper()
	job.driver = driver
	ctx, cancel := context.WithTimeout(d.t.Context(), 20*time.Second)
	defer cancel()
	placements := d.placements(ctx, job.id)
	d.register(job)
	port, ok := <-placements
	if !ok {
		d.t.Fatalf("%s was not placed", job.id)
	}
	placed = time.Now()
	for {
		conn, err := net.Dial("tcp", port)
		if err == nil {
			return placed, conn
		}
		if ctx.Err() != nil {
			d.t.Fatalf("%s never opened its port: %s", job.id, eventsOf(d.task(job.id)))
		}
		time.Sleep(500 * time.Microsecond)
	}
}

// placements tells the address of the job's first allocation as soon as it is placed. A server
// may close a subscription, for its client to subscribe again; what was told is told again then.
func (d *driven) placements(ctx context.Context, job string) <-chan string {
	d.t.Helper()
	subscribe := func() (<-chan *nomad.Events, error) {
		topics := map[nomad.Topic][]string{nomad.TopicAllocation: {job}}
		return d.client.EventStream().Stream(ctx, topics, 0, d.query())
	}
	stream, err := subscribe()
	fail(d.t, err)
	found := make(chan string, 1)
	go func() {
		defer close(found)
		for err == nil && ctx.Err() == nil {
			if at := placement(stream); at != "" {
				found <- at
				return
			}
			stream, err = subscribe()
		}
	}()
	return found
}

// placement returns the address of the first allocation that a stream tells of; "" where the
// stream ends before.
func placement(stream <-chan *nomad.Events) string {
	for events := range stream {
		for _, event := range events.Events {
			alloc, err := event.Allocation()
			if err != nil || alloc == nil || alloc.AllocatedResources == nil {
				continue
			}
			for _, port := range alloc.AllocatedResources.Shared.Ports {
				return net.JoinHostPort(port.HostIP, strconv.Itoa(port.Value))
			}
		}
	}
	return ""
}
