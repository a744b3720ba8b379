//go:build e2e

package e2e

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"doze/api/wire"
)

// field cases 18 and 23: 500 requests at once to a sleeping group cause one scale call, and
// each is answered.
func TestStampede_500RequestsAtOnce_oneScaleCallAnd500Answers(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "many", app: "web"})
		d := startDoze(t, c)
		d.waitState("many", wire.Asleep)
		bad := d.burst("many.localhost", 500)
		if len(bad) > 0 {
			t.Errorf("%d of 500 requests were not answered with 200, e.g. %s", len(bad), bad[0])
		}
		if up, _ := c.scalings(t, "many", "web"); up != 1 {
			t.Errorf("the group was scaled up %d times, not once", up)
		}
	})
}

// A request at every instant of falling asleep is answered, never with 502 or 503. Each
// round sends one a little later than the round before, across the instant at which the
// group falls asleep.
func TestEdge_requestWhileFallingAsleep_isAnswered(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		rounds := 200
		if c.real {
			rounds = 40 // a real agent takes a second to stop a task
		}
		c.register(t, jobSpec{id: "edge", app: "web", idleAfter: time.Second})
		d := startDoze(t, c)
		d.waitState("edge", wire.Asleep)
		d.mustGet("edge.localhost", "/")
		for round := range rounds {
			// The sleep is asked for by command, the request follows 0 to 100 ms later.
			asked := make(chan int, 1)
			go func() { asked <- d.command("POST", d.id("edge").SleepPath()) }()
			time.Sleep(time.Duration(round) * 100 * time.Millisecond / time.Duration(rounds))
			got, err := d.get("edge.localhost", "/")
			if err != nil || got.status != http.StatusOK {
				t.Errorf("round %d: status %d, error %v: %.100s", round, got.status, err, got.body)
			}
			<-asked // 409 where the request came first
		}
	})
}

// burst sends n requests at once and returns what was not answered with 200.
func (d *doze) burst(host string, n int) (bad []string) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			got, err := d.get(host, "/")
			if err == nil && got.status == http.StatusOK {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				bad = append(bad, err.Error())
			} else {
				bad = append(bad, http.StatusText(got.status)+": "+got.body)
			}
		})
	}
	all.Wait()
	return bad
}
