package healthgate_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

// record is what a Prober reported, with the time since it began.
type record struct {
	at []time.Duration
	rs []healthgate.Result
}

// probeFor runs a Prober on addr for d.
func probeFor(t *testing.T, cfg healthgate.ProbeConfig, addr string, d time.Duration) record {
	t.Helper()
	p, err := healthgate.NewProber(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var rec record
	start := time.Now()
	p.Run(ctx, addr, func(r healthgate.Result) {
		rec.at = append(rec.at, time.Since(start))
		rec.rs = append(rec.rs, r)
	})
	return rec
}

// readyAt returns when the target was first found ready, or -1.
func (r record) readyAt() time.Duration {
	for i, res := range r.rs {
		if res.Ready {
			return r.at[i]
		}
	}
	return -1
}

// field cases 22, 32: a target that is ready soon is not left waiting for the next interval.
func TestProber_readyAfter120ms_isNoticedBefore150ms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		time.AfterFunc(120*time.Millisecond, func() { n.answer("app:1") })
		rec := probeFor(t, healthgate.ProbeConfig{Interval: time.Second, Dial: n.dial}, "app:1", time.Second)
		if at := rec.readyAt(); at < 120*time.Millisecond || at >= 150*time.Millisecond {
			t.Errorf("ready after %s", at)
		}
	})
}

func TestProber_firstSecond_pausesAre2To25MsAndASixteenthOfTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		rec := probeFor(t, healthgate.ProbeConfig{Dial: n.dial}, "dead:1", time.Second)
		if len(rec.at) < 40 || rec.at[0] != 0 || rec.at[1] != 2*time.Millisecond {
			t.Fatalf("probed at %s", rec.at)
		}
		for i := 1; i < len(rec.at); i++ {
			pause, waited := rec.at[i]-rec.at[i-1], rec.at[i-1]
			want := min(max(2*time.Millisecond, waited/16), 25*time.Millisecond)
			if pause != want {
				t.Errorf("after %s the pause was %s, want %s", waited, pause, want)
			}
			if v := rec.rs[i].Verdict; v != healthgate.Dead {
				t.Errorf("refused is %s", v)
			}
		}
	})
}

// field case 32: the pace of a wake is only for the wake.
func TestProber_afterSuccess_settlesToTheIntervalWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.answer("app:1")
		rec := probeFor(t, healthgate.ProbeConfig{Interval: time.Second, Dial: n.dial}, "app:1", time.Minute)
		if len(rec.at) < 55 || len(rec.at) > 66 {
			t.Errorf("%d probes in a minute", len(rec.at))
		}
		distinct := map[time.Duration]bool{}
		for i := 1; i < len(rec.at); i++ {
			pause := rec.at[i] - rec.at[i-1]
			distinct[pause] = true
			if pause < 900*time.Millisecond || pause > 1100*time.Millisecond {
				t.Errorf("pause %d was %s", i, pause)
			}
		}
		if len(distinct) < 10 {
			t.Errorf("%d different pauses: no jitter", len(distinct))
		}
	})
}

func TestProber_neverComesUp_isBackedOffFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		rec := probeFor(t, healthgate.ProbeConfig{Interval: time.Second, Dial: n.dial}, "dead:1", time.Hour)
		var early, late int
		for i := 1; i < len(rec.at); i++ {
			pause, waited := rec.at[i]-rec.at[i-1], rec.at[i-1]
			if waited > time.Second && pause > waited/16+waited/100 {
				t.Errorf("after %s the pause was %s: a start would be noticed late", waited, pause)
			}
			if pause > 8800*time.Millisecond {
				t.Errorf("pause of %s, more than 8 intervals", pause)
			}
			if waited < 16*time.Second {
				early++
			}
			if waited > 30*time.Minute {
				late++
			}
		}
		if early > 135 || late > 260 {
			t.Errorf("%d probes in 16s, %d in the last half hour", early, late)
		}
	})
}

func TestProber_initialDelay_isWaitedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		cfg := healthgate.ProbeConfig{InitialDelay: 3 * time.Second, Dial: n.dial}
		time.AfterFunc(3019*time.Millisecond, func() { n.answer("app:1") })
		rec := probeFor(t, cfg, "app:1", 4*time.Second)
		if rec.at[0] != 3*time.Second || rec.readyAt() != 3020*time.Millisecond {
			t.Errorf("first probe after %s, ready after %s", rec.at[0], rec.readyAt())
		}
	})
}

// slowToAnswer answers after delay: an app whose work for a client that has left is lost.
func slowToAnswer(delay time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		defer conn.Close()
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = io.Copy(io.Discard, conn) // ends when the probe closes
		}()
		select {
		case <-time.After(delay):
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n") // a probe that left is fine
		case <-gone:
		}
	}
}

func TestProber_firstAnswerSlowerThanTheTimeout_isAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.accept("app:1", slowToAnswer(2*time.Second))
		cfg := healthgate.ProbeConfig{Kind: "http", Timeout: time.Second, Dial: n.dial}
		rec := probeFor(t, cfg, "app:1", time.Minute)
		if at := rec.readyAt(); at < 2*time.Second || at > 8*time.Second {
			t.Errorf("ready after %s", at)
		}
		for _, r := range rec.rs[len(rec.rs)-5:] {
			if !r.Ready || r.Verdict != healthgate.Up {
				t.Errorf("a slow target was lost again: %+v", r)
			}
		}
	})
}

func TestProber_silentTarget_timeoutGrowsTenfoldAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.hang("app:1")
		cfg := healthgate.ProbeConfig{Kind: "http", Timeout: time.Second, Dial: n.dial}
		rec := probeFor(t, cfg, "app:1", 5*time.Minute)
		var longest time.Duration
		for _, r := range rec.rs {
			longest = max(longest, r.Took)
			if r.Verdict != healthgate.Busy {
				t.Fatalf("verdict %s for a target that listens: %v", r.Verdict, r.Err)
			}
		}
		if longest != 10*time.Second {
			t.Errorf("longest probe took %s", longest)
		}
	})
}

// A SYN that is dropped while a network namespace is being built is sent again by the
// kernel a second later; a request that is lost is never answered.
func TestProber_firstProbeIsLost_readinessIsNoticedAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.answer("app:1")
		start := time.Now()
		var calledOff time.Duration
		lossy := func(ctx context.Context, network, addr string) (net.Conn, error) {
			if time.Since(start) < 60*time.Millisecond {
				<-ctx.Done()
				calledOff = time.Since(start)
				return nil, ctx.Err()
			}
			return n.dial(ctx, network, addr)
		}
		rec := probeFor(t, healthgate.ProbeConfig{Timeout: 5 * time.Second, Dial: lossy}, "app:1", time.Second)
		at := rec.readyAt()
		if at < 0 || at > 150*time.Millisecond {
			t.Errorf("ready after %s", at)
		}
		if calledOff != at {
			t.Errorf("the lost probe went on until %s", calledOff)
		}
	})
}

func TestProber_readyTarget_getsOneProbeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		start, busy := time.Now(), make(chan struct{}, 1)
		n.accept("app:1", func(conn net.Conn) {
			if time.Since(start) > 2*time.Second {
				select {
				case busy <- struct{}{}:
					defer func() { <-busy }()
				default:
					t.Error("two probes at once of a target that is ready")
				}
			}
			slowToAnswer(500 * time.Millisecond)(conn)
		})
		rec := probeFor(t, healthgate.ProbeConfig{Kind: "http", Dial: n.dial}, "app:1", 30*time.Second)
		if at := rec.readyAt(); at != 500*time.Millisecond {
			t.Errorf("ready after %s: the first probe was not let finish", at)
		}
	})
}

func TestProber_riseAndFall_countResultsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		var mu sync.Mutex
		answers := []int{200, 500, 200, 200, 500, 500, 200, 500, 500, 500, 500}
		n.serve(t, "app:1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			status := 200
			if len(answers) > 0 {
				status, answers = answers[0], answers[1:]
			}
			w.WriteHeader(status)
		}))
		cfg := healthgate.ProbeConfig{
			Kind: "http", Statuses: "200", Rise: 2, Fall: 3, Dial: n.dial,
		}
		rec := probeFor(t, cfg, "app:1", 9500*time.Millisecond)
		var got strings.Builder
		for _, r := range rec.rs[:11] {
			got.WriteString(map[bool]string{true: "R", false: "-"}[r.Ready])
		}
		if got.String() != "---RRRRRR--" {
			t.Errorf("ready: %s", got.String())
		}
		if v := rec.rs[9].Verdict; v != healthgate.Hung {
			t.Errorf("busy for as long as Fall allows is %s, want hung", v)
		}
		if last := rec.rs[len(rec.rs)-1]; last.Verdict != healthgate.Up {
			t.Errorf("last verdict %s", last.Verdict)
		}
	})
}

func TestProber_diallerDies_isUnknownAndAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls int
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			if calls++; calls == 1 {
				runtime.Goexit()
			}
			if calls == 2 {
				panic("again")
			}
			here, there := net.Pipe()
			there.Close()
			return here, nil
		}
		rec := probeFor(t, healthgate.ProbeConfig{Dial: dial}, "app:1", 100*time.Millisecond)
		var got []healthgate.Verdict
		for _, r := range rec.rs {
			got = append(got, r.Verdict)
		}
		if len(got) != 3 || got[0] != healthgate.Unknown || got[1] != healthgate.Unknown || got[2] != healthgate.Up {
			t.Errorf("verdicts %s", got)
		}
	})
}

// A dialler that knows more than that it could not connect is believed.
func TestProbe_diallersOwnVerdict_stands(t *testing.T) {
	own := &healthgate.ProbeError{Verdict: healthgate.Busy, Err: errors.New("not yet")}
	probe, err := healthgate.ProbeConfig{
		Dial: func(context.Context, string, string) (net.Conn, error) { return nil, own },
	}.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := probe.Probe(t.Context(), "app:1"); healthgate.VerdictOf(err) != healthgate.Busy {
		t.Errorf("verdict %s of %v", healthgate.VerdictOf(err), err)
	}
}
