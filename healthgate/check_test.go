package healthgate_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"doze/healthgate"
)

type brokenError struct{ text *string }

func (e *brokenError) Error() string { return *e.text }

func TestCheck_everyWayToFail_isAFailureWithAReason(t *testing.T) {
	for name, tc := range map[string]struct {
		check func(context.Context) error
		want  string
	}{
		"error": {fails, "secret-host refused"},
		"empty error": {func(context.Context) error { return errors.New("") },
			"failed without saying why"},
		"panic":          {func(context.Context) error { panic("boom") }, "panicked: boom"},
		"panic in error": {func(context.Context) error { return new(brokenError) }, "panicked: "},
		"goexit": {func(context.Context) error { runtime.Goexit(); return nil },
			"ended its goroutine without an answer"},
		"late nil": {func(context.Context) error { time.Sleep(1001 * time.Millisecond); return nil },
			"no answer within 1s"},
		"nil after its context": {func(ctx context.Context) error { <-ctx.Done(); return nil },
			"no answer within 1s"},
		"at its context's end": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			"no answer within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startedHealth(t, healthgate.HealthConfig{Checks: []healthgate.Check{
					{Name: "fine", Check: passes}, {Name: "db", Check: tc.check},
				}})
				err := h.Ready(t.Context())
				if err == nil || !strings.HasPrefix(err.Error(), "not ready: db: "+tc.want) {
					t.Errorf("Ready: %v, want %q", err, tc.want)
				}
				time.Sleep(time.Second) // late ones end
			})
		})
	}
}

// In time is in time, however slow another check makes the run.
func TestCheck_answersInTimeBehindASlowOne_passes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleeps := func(d time.Duration) func(context.Context) error {
			return func(context.Context) error { time.Sleep(d); return nil }
		}
		h := startedHealth(t, healthgate.HealthConfig{Checks: []healthgate.Check{
			{Name: "slow", Check: sleeps(5 * time.Second), Timeout: 10 * time.Second},
			{Name: "quick", Check: sleeps(90 * time.Millisecond), Timeout: 100 * time.Millisecond},
		}})
		if err := h.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCheck_hugeError_isBounded(t *testing.T) {
	huge := errors.New(strings.Repeat("ä", 1<<20))
	h := startedHealth(t, healthgate.HealthConfig{Checks: []healthgate.Check{
		{Name: "x", Check: func(context.Context) error { return huge }},
		{Name: "odd", Check: func(context.Context) error { return errors.New("x" + huge.Error()) }},
	}})
	var failing *healthgate.NotReadyError
	if err := h.Ready(t.Context()); !errors.As(err, &failing) {
		t.Fatal(err)
	}
	for _, f := range failing.Failing {
		if len(f.Reason) > 520 || len(f.Reason) < 500 || !utf8.ValidString(f.Reason) {
			t.Errorf("%s: %d bytes, valid: %t", f.Name, len(f.Reason), utf8.ValidString(f.Reason))
		}
	}
}

func TestCheck_changesOfState_areLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var state error
		h := startedHealth(t, healthgate.HealthConfig{
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
				Level: slog.LevelInfo,
				ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				},
			})),
			Checks: []healthgate.Check{
				{Name: "db", Check: func(context.Context) error { return state }},
				{Name: "fine", Check: passes},
			},
		})
		for _, now := range []error{nil, nil, errors.New("refused"), errors.New("reset"), nil, nil} {
			state = now
			for range 10 {
				_ = h.Ready(t.Context()) // what it says is tested elsewhere
			}
			time.Sleep(time.Second)
		}
		want := `level=WARN msg="readiness check fails; readiness is unavailable" check=db error=refused
level=INFO msg="readiness check passes again" check=db
`
		if log.String() != want {
			t.Errorf("logged\n%swant\n%s", log.String(), want)
		}
	})
}
