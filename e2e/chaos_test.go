//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"doze/api/wire"
	"doze/internal/devnomad"
)

const (
	chaosFor     = 20 * time.Second
	chaosClients = 10
	chaosGroups  = 4
)

// field cases 12, 14, 17, 18 and 21, all at once: clients ask while people and a Nomad that
// misbehaves do whatever they like. Each request is answered once, or turned away with 503
// and Retry-After and never seen by an application, or finds no such host while its job is
// stopped; when it is over every group sleeps, and wakes with the count that was asked for.
// E2E_CHAOS_SEED repeats a run, as far as goroutines can be repeated.
func TestChaos_peopleAndNomadAtOnce_nothingLostDoubledOrStuck(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint(os.Getenv("E2E_CHAOS_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("E2E_CHAOS_SEED=%d", seed)
	w := newChaos(t, seed)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for n := range chaosClients {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		clients.Go(func() { w.ask(rng, n, stop) })
	}
	w.misbehave(rand.New(rand.NewPCG(seed, chaosClients)))
	close(stop)
	clients.Wait()
	w.settle()
}

// chaos is the world of one run.
type chaos struct {
	t      *testing.T
	c      *cluster
	d      *doze
	apps   *countedApps
	faults *devnomad.Faults
	mend   []func() // take the faults back
	people sync.WaitGroup

	mu       sync.Mutex
	served   int
	answered int // in all
	broken   int // by an application that was stopped under a request
	unsent   int // ended without an answer of 200 or 503, and never seen: few
}

func newChaos(t *testing.T, seed uint64) *chaos {
	w := &chaos{t: t, apps: newCountedApps(), faults: new(devnomad.Faults)}
	nomad, err := devnomad.Start(devnomad.Config{Faults: w.faults,
		Drivers: map[string]devnomad.Runner{"raw_exec": w.apps}})
	fail(t, err)
	t.Cleanup(func() { fail(t, nomad.Close()) })
	w.c = &cluster{addr: nomad.Addr(), namespace: "default", client: nomad.Client(), faults: w.faults}
	for n := range chaosGroups {
		w.c.register(t, w.spec(n, 0, 0))
	}
	w.d = startDoze(t, w.c, "-reconcile", "5s")
	return w
}

func (w *chaos) spec(n, count, version int) jobSpec {
	return jobSpec{
		id: fmt.Sprint("chaos", n), app: "web", count: count, idleAfter: time.Second,
		env: map[string]string{"VERSION": strconv.Itoa(version)},
		policy: map[string]any{"waiting": "hold", "wake_timeout": "20s",
			"probe": []map[string]any{{"http": []map[string]any{{"path": w.apps.ready}}}}},
	}
}

// ask is one client.
func (w *chaos) ask(rng *rand.Rand, client int, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rng.Int64N(int64(500 * time.Millisecond)))):
		}
		body := 0
		if rng.IntN(2) == 0 {
			body = rng.IntN(40_000)
		}
		w.judge(fmt.Sprintf("%d-%d", client, n), w.spec(rng.IntN(chaosGroups), 0, 0).host(), body)
	}
}

// judge sends one request and says what is wrong with what became of it.
func (w *chaos) judge(id, host string, body int) {
	req, err := http.NewRequest(http.MethodPost, "http://"+host+"/", bytes.NewReader(make([]byte, body)))
	if err != nil {
		w.t.Error(err)
		return
	}
	req.Header.Set(requestID, id)
	got, err := w.d.send(req)
	seen := w.apps.seen(id)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered++
	switch {
	case err == nil && got.status == http.StatusOK && seen == 1 && got.body == strconv.Itoa(body):
		w.served++
	case err == nil && got.status == http.StatusServiceUnavailable && seen == 0 &&
		got.header.Get("Retry-After") != "":
	case err == nil && got.status == http.StatusNotFound && seen == 0:
	case err == nil && got.status == http.StatusBadGateway && seen <= 1:
		w.broken++
		w.unsent += 1 - seen
	default:
		w.t.Errorf("%s: %d bytes to %s: status %d after %s, seen %d times, error %v: %.80s",
			id, body, host, got.status, got.took, seen, err, got.body)
	}
	if got.took > 25*time.Second {
		w.t.Errorf("%s: held for %s, the limit is 20s", id, got.took)
	}
}

// misbehave does one thing after the other until the time is up.
func (w *chaos) misbehave(rng *rand.Rand) {
	for end := time.Now().Add(chaosFor); time.Now().Before(end); {
		deeds := w.deeds(rng)
		deeds[rng.IntN(len(deeds))]()
		time.Sleep(time.Duration(rng.Int64N(int64(700 * time.Millisecond))))
		if rng.IntN(3) == 0 {
			w.mendAll()
		}
	}
	w.mendAll()
	w.people.Wait()
}

func (w *chaos) mendAll() {
	for _, mend := range w.mend {
		mend()
	}
	w.mend = nil
}

// deeds are what people do, and what Nomad does, drawn anew each time.
func (w *chaos) deeds(rng *rand.Rand) []func() {
	n, other := rng.IntN(chaosGroups), rng.IntN(chaosGroups)
	count, version, step := rng.IntN(3), rng.IntN(1000), devnomad.Step(rng.IntN(3))
	odd := func(string, string) bool { return time.Now().UnixMicro()%2 == 1 }
	return []func(){
		w.person(func() { w.d.post(w.d.id(w.spec(n, 0, 0).id).WakePath()) }),
		w.person(func() { w.d.post(w.d.id(w.spec(n, 0, 0).id).SleepPath()) }),
		w.person(func() { w.redeploy(n, count, version) }),
		w.person(func() { w.redeploy(n, 1, version); w.redeploy(other, 0, version) }),
		w.person(func() { w.scale(n, count); w.redeploy(n, count, version) }),
		w.person(func() { w.remove(n, false) }),
		w.person(func() { w.remove(n, true); w.redeploy(n, count, version) }),
		w.fault(devnomad.HTML()), w.fault(devnomad.TooMany("")), w.fault(devnomad.ActiveDeployment()),
		w.fault(devnomad.Fault{Status: http.StatusInternalServerError, Body: "boom"}),
		w.fault(devnomad.Fault{Method: http.MethodPut, Cut: true, Act: true}),
		w.fault(devnomad.Fault{Method: http.MethodPut, Hang: true}),
		w.fault(devnomad.Fault{Hang: true}),
		w.until(func() { w.faults.LoseLeader(true) }, func() { w.faults.LoseLeader(false) }),
		w.until(func() { fail(w.t, w.faults.Outage(true)) }, func() { fail(w.t, w.faults.Outage(false)) }),
		w.until(func() { w.faults.LoseEvents(odd) }, func() { w.faults.LoseEvents(nil) }),
		w.until(func() { w.faults.DuplicateEvents(odd) }, func() { w.faults.DuplicateEvents(nil) }),
		w.until(func() { w.faults.SetDelay(step, time.Second) }, func() { w.faults.SetDelay(step, 0) }),
		w.faults.EndStreams, w.faults.SilenceStreams,
		func() { w.faults.StepClock(time.Duration(version-500) * time.Minute) },
	}
}

// person acts beside whatever else happens. That a call fails in this world is no surprise;
// what counts is what becomes of the requests.
func (w *chaos) person(act func()) func() { return func() { w.people.Go(act) } }

func (w *chaos) fault(f devnomad.Fault) func() {
	return func() { w.mend = append(w.mend, w.faults.Inject(f)) }
}

func (w *chaos) until(begin, end func()) func() {
	return func() { begin(); w.mend = append(w.mend, end) }
}

func (w *chaos) redeploy(n, count, version int) {
	_, _, _ = w.c.client.Jobs().Register(w.c.job(w.t, w.spec(n, count, version)), w.c.write())
}

func (w *chaos) scale(n, count int) {
	_, _, _ = w.c.client.Jobs().Scale(w.spec(n, 0, 0).id, "web", &count, "by hand", false, nil,
		w.c.write())
}

func (w *chaos) remove(n int, purge bool) {
	_, _, _ = w.c.client.Jobs().Deregister(w.spec(n, 0, 0).id, purge, w.c.write())
}

// post is a command whose answer does not matter.
func (d *doze) post(path string) {
	if resp, err := http.Post("http://"+d.api+path, "", nil); err == nil {
		resp.Body.Close()
	}
}

// settle wants everything in order when nobody misbehaves any more.
func (w *chaos) settle() {
	w.t.Logf("%d requests, %d served, %d broken off, %d of them unseen", w.answered, w.served,
		w.broken, w.unsent)
	if w.broken > w.answered/20 || w.unsent > w.answered/100 || w.served < w.answered/50 {
		w.t.Error("too many were broken off, or too few served")
	}
	for n := range chaosGroups {
		spec := w.spec(n, 2, 5000)
		_, _, err := w.c.client.Jobs().Register(w.c.job(w.t, spec), w.c.write())
		fail(w.t, err)
	}
	for n := range chaosGroups {
		spec := w.spec(n, 2, 5000)
		w.d.waitState(spec.id, wire.Asleep)
		w.judge("last-"+spec.id, spec.host(), 1000)
		if seen := w.apps.seen("last-" + spec.id); seen != 1 {
			w.t.Errorf("%s: the last request was seen %d times", spec.id, seen)
		}
		if count := w.c.count(w.t, spec.id, "web"); count != 2 {
			w.t.Errorf("%s woke with a count of %d, not 2", spec.id, count)
		}
		w.d.waitState(spec.id, wire.Asleep)
		if group, _ := w.d.group(spec.id); group.InFlight != 0 {
			w.t.Errorf("%s is asleep with %d in flight", spec.id, group.InFlight)
		}
	}
	if log, err := os.ReadFile(w.d.log); err != nil || strings.Contains(string(log), "panic") {
		w.t.Errorf("the log has a panic in it, or cannot be read: %v", err)
	}
}
