package process_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"doze/plugins/drivers"
	"doze/plugins/process"
)

func TestFind_runningProcess_isHeldLikeTheFirst(t *testing.T) {
	w := newWorld(t)
	first, err := w.sh(t, "exec sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	found, err := process.Find(drivers.Handle{State: first.State(), Task: w.TaskConfig})
	if err != nil {
		t.Fatal(err)
	}
	if found.PID() != first.PID() || !bytes.Equal(found.State(), first.State()) {
		t.Errorf("process %d with state %s was found for %d with %s",
			found.PID(), found.State(), first.PID(), first.State())
	}
	if err := found.Stop(""); err != nil {
		t.Fatal(err)
	}
	if r := found.Wait(); r.Message == "" {
		t.Errorf("it ended with %+v: nobody but its parent can know that", r)
	}
	if r := first.Wait(); r.Signal != 15 {
		t.Errorf("to its parent it ended with %+v", r)
	}
	_, err = process.Find(drivers.Handle{State: first.State(), Task: w.TaskConfig})
	if err == nil {
		t.Error("a process that has ended was found")
	}
}

func TestFind_endedAndNotYetReaped_isNotThere(t *testing.T) {
	w := newWorld(t)
	p, err := w.sh(t, "exit 0")
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read(t); got != "" { // until its end
		t.Fatal(got)
	}
	h := drivers.Handle{State: p.State(), Task: w.TaskConfig}
	for found, err := process.Find(h); err == nil; found, err = process.Find(h) {
		found.Wait() // its log was closed, it was still there
	}
	if r := p.Wait(); r.Code != 0 {
		t.Errorf("it ended with %+v", r)
	}
}

// A number alone says nothing: this process has it, and another has had it.
func TestFind_numberIsAnothers_isNotFound(t *testing.T) {
	p, err := newWorld(t).sh(t, "exec sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{`"born":"`: `"born":"1`, `"boot":"`: `"boot":"1`} {
		state := bytes.Replace(p.State(), []byte(from), []byte(to), 1)
		_, err := process.Find(drivers.Handle{State: state})
		if !errors.Is(err, drivers.ErrTaskExited) {
			t.Errorf("with the state %s Find returned %v", state, err)
		}
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	p.Wait()
}

// FuzzFind holds that no state crashes the driver, and none finds a process that this
// package has not started.
func FuzzFind(f *testing.F) {
	self, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		f.Fatal(err)
	}
	boot := string(bytes.TrimSpace(self))
	for _, state := range []string{"", "{", "null", `{"pid":1}`, `{"pid":-1,"born":"1","boot":"1"}`,
		`{"pid":2,"born":"1","boot":"` + boot + `"}`, `{"pid":9999999999999999999}`,
		`{"pid":0,"born":"1","boot":"` + boot + `"}`} {
		f.Add([]byte(state))
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		if p, err := process.Find(drivers.Handle{State: state}); err == nil {
			t.Errorf("the state %q has found process %d", state, p.PID())
		}
	})
}
