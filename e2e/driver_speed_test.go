//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// testPortOpen: from the allocation's placement to the open port a task takes less than under
// raw_exec, on the same agent. Most of either is Nomad's own log collector, a process that it
// starts for each task; without it the difference is the drivers' own.
func testPortOpen(t *testing.T, d *driven) {
	const rounds = 5
	for _, logs := range []bool{true, false} {
		times := map[string][]time.Duration{}
		for i := range rounds {
			for _, driver := range []string{"raw_exec", "doze"} {
				job := drivenJob{id: fmt.Sprintf("speed-%s-%t-%d", driver[:3], logs, i), noLogs: !logs}
				times[driver] = append(times[driver], d.timeToPort(job, driver))
			}
		}
		ours, theirs := median(times["doze"]), median(times["raw_exec"])
		t.Logf("placed to port open, log collection %t, median of %d: doze %s, raw_exec %s, ratio %.2f",
			logs, rounds, ours, theirs, float64(ours)/float64(theirs))
		if ours > theirs {
			t.Errorf("log collection %t: doze takes %v, raw_exec %v",
				logs, times["doze"], times["raw_exec"])
		}
	}
}

// timeToPort starts a job under a driver and returns how long after its placement its port was
// open.
func (d *driven) timeToPort(job drivenJob, driver string) time.Duration {
	d.t.Helper()
	began, conn := d.firstConn(job, driver)
	took := time.Since(began)
	fail(d.t, conn.Close())
	return took
}

// firstConn starts a job under a driver. It returns when the job was placed, and the first
// connection that its port took.
func (d *driven) firstConn(job drivenJob, driver string) (placed time.Time, conn net.Conn) {
	d.t.Helper()
	job.driver = driver
	if job.config == nil && driver == "doze" {
		job.config = map[string]any{"listen": "http"}
	}
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

// placements tells the address of the job's first allocation as soon as it is placed.
func (d *driven) placements(ctx context.Context, job string) <-chan string {
	d.t.Helper()
	stream, err := d.client.EventStream().Stream(ctx,
		map[nomad.Topic][]string{nomad.TopicAllocation: {job}}, 0, d.query())
	fail(d.t, err)
	found := make(chan string, 1)
	go func() {
		defer close(found)
		for events := range stream {
			for _, event := range events.Events {
				alloc, err := event.Allocation()
				if err != nil || alloc == nil || alloc.AllocatedResources == nil {
					continue
				}
				for _, port := range alloc.AllocatedResources.Shared.Ports {
					found <- net.JoinHostPort(port.HostIP, strconv.Itoa(port.Value))
					return
				}
			}
		}
	}()
	return found
}
