package healthgate_test

import (
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"doze/healthgate"
)

func TestDrain_upgraded_areToldThenWaitedForThenCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := newDrainRecord()
		var upgraded healthgate.Upgraded
		near, far := io.Pipe()
		var gone func()
		gone = upgraded.Track(nil, func() {
			record.add("polite one told")
			time.Sleep(time.Second)
			late := make(chan func(), 1)
			late <- upgraded.Track(nil, func() { record.add("late one told"); (<-late)() })
			gone()
		})
		upgraded.Track(far, func() { record.add("stubborn one told") })
		var reader sync.WaitGroup
		reader.Go(func() {
			_, err := near.Read(make([]byte, 1))
			record.add("stubborn one cut: %v", err)
		})
		if upgraded.Len() != 2 {
			t.Errorf("%d tracked", upgraded.Len())
		}
		d := newDrain(t, healthgate.DrainConfig{Timeout: 10 * time.Second, Upgraded: &upgraded})
		err := d.Run(t.Context())
		if err == nil || err.Error() !=
			"cannot finish 1 upgraded connections: the shutdown's time is up" {
			t.Errorf("Run: %v", err)
		}
		reader.Wait()
		slices.Sort(record.lines)
		record.expect(t,
			"0s polite one told",
			"0s stubborn one told",
			"1s late one told",
			"9.5s stubborn one cut: EOF",
		)
	})
}
