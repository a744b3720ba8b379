package shepherd_test

import (
	"os"
	"testing"

	"doze/driver/shepherd"
)

// A command that can't start the application leaves the port as it was: who comes next is
// refused, or has it tried again.
func TestSocketPort_commandCannotStartIt_nextConnectionDoes(t *testing.T) {
	s := socketSpec(t)
	s.OnDemand = true
	s.Command = s.Dir + "/here"
	link := func() {
		if err := os.Symlink(binary, s.Command); err != nil {
			t.Fatal(err)
		}
	}
	link()
	c := launch(t, s)
	if err := os.Remove(s.Command); err != nil {
		t.Fatal(err)
	}
	if err := c.Wake(t.Context()); err == nil {
		t.Fatal("woken without a program")
	}
	link()
	await(t, c, "answering", func(shepherd.Status) bool {
		_, err := get(t, c, "/")
		return err == nil
	})
}
