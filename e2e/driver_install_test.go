//go:build e2e

package e2e

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// defaultStateDir is where the driver's state is that is told of no other directory.
const defaultStateDir = "/run/doze"

// The driver as the documentation has one install it: with a block that says nothing, and so
// with its state directory in /run, and with each block of the documentation.
// The agent and this test get a /run of their own, so that nothing is left in the machine's.
func TestDriver_installedAsDocumented_works(t *testing.T) {
	if os.Getenv(apart) == "" {
		t.Parallel()
		runApart(t, 0)
		return
	}
	fail(t, errors.Join(keepMounts(), unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755")))
	bare := docBlock{file: "bare", text: "plugin \"doze\" {}\n"}
	for _, block := range append(docBlocks(t, "plugin"), bare) {
		t.Run(block.where(), func(t *testing.T) {
			startInstalled(t, func(string) (state, config string) {
				return defaultStateDir, block.text
			}).testDefaults()
		})
	}
}

// testDefaults: a task starts, and is found below /run; it freezes, wakes and ends.
func (d *driven) testDefaults() {
	d.t.Helper()
	d.run(drivenJob{id: "default", config: map[string]any{"listen": "http"}})
	life, _ := d.whoAnswers("default")
	if shepherds := shepherdsIn(d.t, defaultStateDir); len(shepherds) != 1 {
		d.t.Errorf("the shepherds in %s are %v", defaultStateDir, shepherds)
	}
	d.sleep("default", "SIGSTOP", frozen)
	if now, _ := d.whoAnswers("default"); now != life {
		d.t.Errorf("the process from %s was thawed, not the one from %s", now, life)
	}
	alloc := d.alloc("default").ID
	_, _, err := d.client.Jobs().Deregister("default", true, d.write())
	fail(d.t, err)
	d.awaitNothing([]string{alloc})
}
