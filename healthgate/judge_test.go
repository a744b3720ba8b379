package healthgate_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

func subject(n *network, kind, addr string) healthgate.Subject {
	return healthgate.Subject{
		Addr: addr, Probe: healthgate.ProbeConfig{Kind: kind, Timeout: 3 * time.Second, Dial: n.dial},
	}
}

func verdicts(findings []healthgate.Finding) string {
	var all []string
	for _, f := range findings {
		all = append(all, fmt.Sprintf("%s=%s", f.Addr, f.Verdict))
	}
	return strings.Join(all, " ")
}

// field case 34: 24 ports probed one after another took 72 s.
func TestJudge_manyDeadTargets_takesAsLongAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		var subjects []healthgate.Subject
		for i := range 24 {
			addr := fmt.Sprintf("host:%d", 6600+i)
			n.swallow(addr)
			subjects = append(subjects, subject(n, "tcp", addr))
		}
		start := time.Now()
		findings := healthgate.NewJudge(healthgate.JudgeConfig{}).Run(t.Context(), subjects)
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %s, want one timeout of 3s", took)
		}
		for i, f := range findings {
			if f.Verdict != healthgate.Dead || f.Addr != subjects[i].Addr {
				t.Errorf("finding %d is %s %s: %v", i, f.Addr, f.Verdict, f.Err)
			}
		}
		if w := healthgate.Worst(findings); w != healthgate.Dead {
			t.Errorf("worst is %s", w)
		}
	})
}

func TestJudge_mixedTargets_oneVerdictEachInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.answer("up:1")
		n.hang("busy:1")
		n.serve(t, "starting:1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		bad := healthgate.Subject{Addr: "bad:1", Probe: healthgate.ProbeConfig{Kind: "smtp"}}
		findings := healthgate.NewJudge(healthgate.JudgeConfig{}).Run(t.Context(), []healthgate.Subject{
			subject(n, "tcp", "up:1"), subject(n, "http", "busy:1"), subject(n, "http", "starting:1"),
			subject(n, "tcp", "dead:1"), bad,
		})
		want := "up:1=up busy:1=busy starting:1=busy dead:1=dead bad:1=unknown"
		if got := verdicts(findings); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// field case 34: a verdict that nobody wrote fails closed. A dialler that ends its goroutine
// leaves none; one that panics dies.
//
// Mutation: let distinct leave Verdict at its zero value (read a missing verdict as up), and
// this fails.
func TestJudge_probeDies_isUnknown(t *testing.T) {
	deaths := map[string]healthgate.DialFunc{
		"goexit": func(context.Context, string, string) (net.Conn, error) { runtime.Goexit(); return nil, nil },
		"panic":  func(context.Context, string, string) (net.Conn, error) { panic("out of luck") },
		"no address": func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.AddrError{Err: "missing port", Addr: "host"}
		},
	}
	for name, dial := range deaths {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.answer("up:1")
				doomed := healthgate.Subject{Addr: "x:1", Probe: healthgate.ProbeConfig{Dial: dial}}
				findings := healthgate.NewJudge(healthgate.JudgeConfig{}).Run(t.Context(),
					[]healthgate.Subject{doomed, subject(n, "tcp", "up:1")})
				if got := verdicts(findings); got != "x:1=unknown up:1=up" {
					t.Errorf("got %s", got)
				}
				if findings[0].Err == nil {
					t.Error("no error says why")
				}
				if w := healthgate.Worst(findings); w != healthgate.Unknown {
					t.Errorf("worst is %s", w)
				}
			})
		})
	}
}

func TestJudge_contextEnds_restIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.hang("busy:1")
		n.answer("up:1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		j := healthgate.NewJudge(healthgate.JudgeConfig{Concurrency: 1})
		findings := j.Run(ctx, []healthgate.Subject{subject(n, "http", "busy:1"), subject(n, "tcp", "up:1")})
		if got := verdicts(findings); got != "busy:1=unknown up:1=unknown" {
			t.Errorf("got %s", got)
		}
		if n.dialled("up:1") != 0 {
			t.Error("probed after the context had ended")
		}
	})
}

// field case 34: a port that was configured twice was counted twice, so that it was hung
// at half its grace.
func TestJudge_namedTwice_isProbedAndCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.hang("busy:1")
		j := healthgate.NewJudge(healthgate.JudgeConfig{Checks: 3})
		twice := []healthgate.Subject{subject(n, "http", "busy:1"), subject(n, "http", "busy:1")}
		twice[1].Probe.Path = "/" // the default, spelt out
		for run, want := range []string{"busy:1=busy", "busy:1=busy", "busy:1=hung", "busy:1=hung"} {
			if got := verdicts(j.Run(t.Context(), twice)); got != want {
				t.Errorf("run %d: got %s, want %s", run+1, got, want)
			}
		}
		if n.dialled("busy:1") != 4 {
			t.Errorf("dialled %d times in 4 runs", n.dialled("busy:1"))
		}
	})
}

func TestJudge_busyCount_endsWithAnAnswerAndOutlivesADeadProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		var fault atomic.Pointer[error]
		s := subject(n, "http", "app:1")
		s.Probe.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if err := fault.Load(); err != nil {
				return nil, *err
			}
			return n.dial(ctx, network, addr)
		}
		status := http.StatusServiceUnavailable
		n.serve(t, "app:1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		}))
		j := healthgate.NewJudge(healthgate.JudgeConfig{Checks: 2})
		run := func(want string) {
			t.Helper()
			if got := verdicts(j.Run(t.Context(), []healthgate.Subject{s})); got != "app:1="+want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		run("busy")
		died := error(&net.AddrError{Err: "no such thing"})
		fault.Store(&died)
		run("unknown")
		fault.Store(nil)
		run("hung")
		status = http.StatusOK
		run("up")
		status = http.StatusServiceUnavailable
		run("busy")
		j.Run(t.Context(), nil) // left out of a run
		run("busy")
	})
}

func TestJudge_graceWithinOneRun_tellsBusyFromHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.hang("hung:1")
		n.serve(t, "slow:1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(5 * time.Second):
			case <-r.Context().Done():
			}
		}))
		ready := time.Now().Add(2 * time.Second)
		n.serve(t, "starting:1", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if time.Now().Before(ready) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		start := time.Now()
		findings := healthgate.NewJudge(healthgate.JudgeConfig{Grace: 20 * time.Second}).Run(t.Context(),
			[]healthgate.Subject{
				subject(n, "http", "hung:1"), subject(n, "http", "slow:1"),
				subject(n, "http", "starting:1"), subject(n, "tcp", "dead:1"),
			})
		want := "hung:1=hung slow:1=busy starting:1=up dead:1=dead"
		if got := verdicts(findings); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if took := time.Since(start); took < 20*time.Second || took > 23*time.Second {
			t.Errorf("took %s, want the grace and at most a timeout", took)
		}
		if findings[3].Took != 0 {
			t.Errorf("a dead target was asked for %s", findings[3].Took)
		}
	})
}

func TestJudge_concurrency_isBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := make(chan struct{}, 5)
		slow := func(context.Context, string, string) (net.Conn, error) {
			select {
			case places <- struct{}{}:
			default:
				t.Error("more than 5 at once")
			}
			time.Sleep(100 * time.Millisecond)
			<-places
			return nil, errors.New("refused")
		}
		var subjects []healthgate.Subject
		for i := range 20 {
			subjects = append(subjects, healthgate.Subject{
				Addr: fmt.Sprintf("h:%d", i+1), Probe: healthgate.ProbeConfig{Dial: slow},
			})
		}
		start := time.Now()
		healthgate.NewJudge(healthgate.JudgeConfig{Concurrency: 5}).Run(t.Context(), subjects)
		if took := time.Since(start); took != 400*time.Millisecond {
			t.Errorf("took %s, want 20 targets in 4 times 100ms", took)
		}
	})
}

func TestWorst_noFindings_isUnknown(t *testing.T) {
	if w := healthgate.Worst(nil); w != healthgate.Unknown {
		t.Errorf("got %s", w)
	}
}
