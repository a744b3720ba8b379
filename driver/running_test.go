package driver

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/idle"
	"doze/plugins/base"
	"doze/plugins/drivers"
)

// What can be asked of a task while it runs.

func TestDriver_signals_freezeParkWakeOrGoToTheProcess(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task, _ := mustStart(t, d)
		for _, name := range []string{"SIGSTOP", "SIGTSTP", "SIGHUP"} {
			if err := d.Signal(t.Context(), task.ID, name); err != nil {
				t.Error(err)
			}
		}
		err := d.Signal(t.Context(), task.ID, "SIGCONT")
		if want := `cannot wake task "web": the app never listened`; err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
		if err := d.Signal(t.Context(), task.ID, "INVALID"); err == nil {
			t.Error("an unknown signal was taken")
		}
		want := []string{"sleep freeze", "sleep park", "signal SIGHUP", "wake"}
		if got := flock.only().calls; !slices.Equal(got, want) {
			t.Errorf("the shepherd was told %q, not %q", got, want)
		}
	})
}

func TestDriver_exec_passesStreamsSizesAndTheExit(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, _ *fakeFlock) {
		task, _ := mustStart(t, d)
		var out bytes.Buffer
		exit, err := d.Exec(t.Context(), task.ID, drivers.Session{Command: []string{"cat"},
			Stdin: strings.NewReader("hello"), Stdout: &out, Stderr: &out})
		if err != nil || exit.Code != 7 || out.String() != "hello" {
			t.Errorf("got %+v, %v, %q", exit, err, out.String())
		}
		out.Reset()
		sizes := make(chan drivers.TerminalSize, 1)
		sizes <- drivers.TerminalSize{Width: 80, Height: 24}
		_, err = d.Exec(t.Context(), task.ID, drivers.Session{Command: []string{"size"}, TTY: true,
			Resize: sizes, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out})
		if err != nil || out.String() != "80x24" {
			t.Errorf("got size %q, %v", out.String(), err)
		}
	})
}

func TestDriver_events_reachNomadInItsTerms(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		mustStart(t, d)
		dog := flock.only()
		dog.events <- shepherd.Event{Kind: shepherd.EventExited, Message: "Nomad tells this itself"}
		dog.events <- shepherd.Event{Kind: shepherd.EventFrozen, Message: "frozen after 30s",
			Details: map[string]string{"idle": "30s"}, Suppressed: 4}
		ctx, done := context.WithCancel(t.Context())
		var got drivers.Event
		err := d.Events(ctx, func(e drivers.Event) error { got = e; done(); return nil })
		if !errors.Is(err, context.Canceled) || got.Message != "frozen after 30s" ||
			got.TaskID != "alloc/web/1" || got.AllocID != "alloc" || got.TaskName != "web" ||
			got.Details["idle"] != "30s" || got.Details["suppressed"] != "4" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestDriver_stats_areRatesOfTheLastInterval(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		agent := &base.Agent{Topology: &base.Topology{
			Cores: []base.Core{{BaseSpeed: 2000}, {GuessedSpeed: 1000}}}}
		d.clock = clockOf(agent)
		task, _ := mustStart(t, d)
		dog := flock.only()
		var got []drivers.Stats
		err := d.Stats(t.Context(), task.ID, 2*time.Second, func(s drivers.Stats) error {
			got = append(got, s)
			dog.mu.Lock()
			dog.stats.CPU.Total += uint64(time.Second)
			dog.stats.Memory.RSS += 1 << 20
			dog.mu.Unlock()
			if len(got) == 3 {
				dog.die()
			}
			return nil
		})
		if err != nil || len(got) != 3 {
			t.Fatalf("got %d stats, %v", len(got), err)
		}
		first, last := got[0].Usage, got[2].Usage
		if first.CPU.Percent != 0 || last.CPU.Percent != 50 || last.CPU.Ticks != 750 ||
			last.Memory.RSS != 2<<20 {
			t.Errorf("got %+v, %+v then %+v", first.CPU, last.CPU, last.Memory)
		}
	})
}

func TestDriver_inspect_tellsHowTheTaskIs(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		task, _ := mustStart(t, d)
		got, err := d.Inspect(t.Context(), task.ID)
		if err != nil || got.State != drivers.TaskRunning || got.Name != "web" ||
			got.Attributes["state"] != idle.Ready.String() || got.Attributes["wakes"] != "3" {
			t.Errorf("got %+v, %v", got, err)
		}
		flock.only().end(shepherd.Exit{Code: 1, At: time.Now()})
		got, err = d.Inspect(t.Context(), task.ID)
		if err != nil || got.State != drivers.TaskExited || got.Exit.Code != 1 ||
			got.CompletedAt.IsZero() {
			t.Errorf("after its exit got %+v, %v", got, err)
		}
	})
}
