//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// apart says that this process has mounts, and more where a test wants it, of its own.
const apart = "E2E_APART"

// runApart runs this test again as a process with mounts, and what the flags of clone(2) say,
// of its own.
func runApart(t *testing.T, flags uintptr) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), apart+"=1", "DOZE_BIN="+binary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | flags}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	switch {
	case err != nil:
		t.Error("in namespaces of its own: ", err)
	case bytes.Contains(out, []byte("--- SKIP")):
		_, why, _ := bytes.Cut(out, []byte("SKIP: "))
		why, _, _ = bytes.Cut(why, []byte("\n"))
		t.Skipf("SKIP: %s", why)
	}
}

// keepMounts has what this process mounts be its own.
func keepMounts() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }
