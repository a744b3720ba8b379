package shepherd_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
)

// soakFor is how long each of the soaks goes on; a longer one is for looking for trouble:
// go test -run Soak -soak.for=5m ./driver/shepherd
var soakFor = flag.Duration("soak.for", 2*time.Second, "how long each soak goes on")

// soak is a task that falls asleep at every chance, and those who use it at random.
type soak struct {
	t      *testing.T
	client *shepherd.Client
	addr   string
	over   atomic.Bool
	asked  atomic.Int64

	relayed bool
}

// Whatever a task's sleep comes across, no request is lost, refused or answered late: it
// falls asleep at every depth, by itself and by command, while clients come at random
// instants, and others signal it and run commands in it.
func TestSoak_usedAtRandom_losesNothing(t *testing.T) {
	withFreezer(t)
	for name, s := range map[string]shepherd.Spec{
		"relay": spec(t, "http"), "socket": socketSpec(t),
	} {
		t.Run(name, func(t *testing.T) {
			s.FreezeAfter, s.ParkAfter = 4*time.Millisecond, 12*time.Millisecond
			c := launch(t, s)
			w := &soak{t: t, client: c, addr: status(t, c).Listen, relayed: name == "relay"}
			w.run()
			t.Logf("%d requests, %d wakes", w.asked.Load(), status(t, c).Wakes)
		})
	}
}

func (w *soak) run() {
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() { w.visit(rand.New(rand.NewPCG(uint64(i), 1))) })
	}
	for i := range 2 {
		all.Go(func() { w.stay(rand.New(rand.NewPCG(uint64(i), 2))) })
	}
	all.Go(func() { w.command(rand.New(rand.NewPCG(0, 3))) })
	w.t.Cleanup(func() { w.over.Store(true) })
	pauseFor(w.t, *soakFor)
	await(w.t, w.client, "used and woken", func(s shepherd.Status) bool {
		return w.t.Failed() || s.Wakes >= 3 && w.asked.Load() >= 20
	})
	w.over.Store(true)
	all.Wait()
}

// visit asks over connections of their own, with pauses in which the task may sleep.
func (w *soak) visit(r *rand.Rand) {
	for !w.over.Load() {
		pauseFor(w.t, time.Duration(r.Int64N(int64(60*time.Millisecond))))
		began := time.Now()
		if _, err := getFrom(w.addr, "/"); err != nil {
			w.t.Errorf("after %s: %v", time.Since(began), err)
		}
		w.asked.Add(1)
		if took := time.Since(began); took > 5*time.Second {
			w.t.Errorf("answered after %s", took)
		}
	}
}

// stay asks several times over one connection. While it is open the task may be frozen by
// command, but nothing parks it.
func (w *soak) stay(r *rand.Rand) {
	for !w.over.Load() {
		pauseFor(w.t, time.Duration(r.Int64N(int64(200*time.Millisecond))))
		client := &http.Client{Timeout: patience, Transport: &http.Transport{}}
		for range 4 {
			if err := w.echo(client, r.IntN(200_000)); err != nil {
				w.t.Error("over one connection: ", err)
			}
			pauseFor(w.t, time.Duration(r.Int64N(int64(10*time.Millisecond))))
		}
		client.CloseIdleConnections()
	}
}

// echo sends n bytes, slowly, and wants to hear how many came.
func (w *soak) echo(client *http.Client, n int) error {
	w.asked.Add(1)
	body, feed := io.Pipe()
	go func() {
		for left := n; left > 0; left -= min(left, 50_000) {
			if _, err := feed.Write(make([]byte, min(left, 50_000))); err != nil {
				return // the client has given up, and says why
			}
		}
		_ = feed.Close() // never fails
	}()
	answer, err := client.Post("http://"+w.addr+"/count", "", body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && string(text) != fmt.Sprint(n, " bytes, ", nil) {
		err = fmt.Errorf("of %d bytes %q arrived", n, text)
	}
	return err
}

// command gives orders that lose nothing: what it may not do, a task says.
func (w *soak) command(r *rand.Rand) {
	for !w.over.Load() {
		pauseFor(w.t, time.Duration(r.Int64N(int64(20*time.Millisecond))))
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		began := time.Now()
		what, err := w.order(ctx, r.IntN(5))
		cancel()
		if err != nil {
			w.t.Errorf("%s after %s: %v", what, time.Since(began), err)
		}
	}
}

func (w *soak) order(ctx context.Context, which int) (what string, err error) {
	switch which {
	case 0:
		return "wake", w.client.Wake(ctx)
	case 1:
		_, err := w.client.Exec(ctx, shepherd.ExecSpec{Argv: []string{"/bin/true"}},
			nil, io.Discard, io.Discard)
		return "exec", err
	case 2:
		_, err := w.client.Stats(ctx)
		return "stats", err
	}
	if w.relayed { // an order to freeze what is being used is obeyed, so there is none
		_, err = w.client.Status(ctx)
		return "status", err
	}
	depth := []idle.Depth{3: idle.Freeze, 4: idle.Park}[which]
	if err = w.client.Sleep(ctx, depth); errors.Is(err, shepherd.ErrInUse) {
		err = nil // somebody is there
	}
	return depth.String(), err
}
