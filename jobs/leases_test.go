package jobs_test

import (
	"maps"
	"testing"
	"time"

	"doze/idle"
	"doze/internal/devnomad"
	"doze/jobs"
)

// field case 21: leases survive a restart.
func TestLeases_saved_areThereAfterARestart(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(1)))
		w.watch(jobs.Config{})
		now := time.Now().UTC()
		saved := map[string]time.Time{
			"alice": now.Add(2 * time.Hour), "bob": now.Add(time.Minute),
		}
		if err := w.watcher.SaveLeases(t.Context(), id, saved); err != nil {
			t.Fatal(err)
		}
		w.scale(id, 2) // other events do not hide them
		w.watch(jobs.Config{})
		w.pass(time.Hour)
		got, err := w.watcher.Leases(t.Context(), id)
		delete(saved, "bob") // ended meanwhile
		if err != nil || !maps.EqualFunc(got, saved, time.Time.Equal) {
			t.Errorf("got %v, %v; want %v", got, err, saved)
		}
		if n := w.count(id); n != 2 {
			t.Errorf("count %d", n)
		}
	})
}

func TestLeases_noneLeft_areNone(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(1)))
		w.watch(jobs.Config{})
		got, err := w.watcher.Leases(t.Context(), id)
		if err != nil || len(got) > 0 {
			t.Errorf("never saved: %v, %v", got, err)
		}
		saved := map[string]time.Time{"alice": time.Now().Add(time.Hour)}
		for _, leases := range []map[string]time.Time{saved, nil} {
			if err := w.watcher.SaveLeases(t.Context(), id, leases); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := w.watcher.Leases(t.Context(), id); err != nil || len(got) > 0 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// An event without a count brings a system job's scale call to a nil pointer in Nomad.
func TestSaveLeases_notManaged_sendsNothing(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		w.watch(jobs.Config{})
		id := idle.GroupID{Namespace: "default", Job: "shop", Group: "web"}
		mustFail(t, w.watcher.SaveLeases(t.Context(), id, nil), "not managed")
		if n := w.took(scaleShop); n != 0 {
			t.Errorf("%d scale calls", n)
		}
	})
}
