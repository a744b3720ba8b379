package driver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"doze/plugins/drivers"
)

// mounted is a directory on a small file system of its own.
func mounted(t *testing.T, flags uintptr, options string) string {
	t.Helper()
	dir := ShortDir(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, options+",mode=700"); err != nil {
		t.Skipf("NEEDS TO MOUNT: no full or read-only file system can be had here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFingerprint_stateDirWithoutRoom_isTheReason(t *testing.T) {
	for _, c := range []struct{ dir, reason string }{
		{mounted(t, 0, "nr_inodes=1"), "is full"},
		{mounted(t, unix.MS_RDONLY, "size=16k"), "is on a file system that is read-only"},
	} {
		d := New(Config{})
		block := agentBlock(t, map[string]any{"state_dir": c.dir})
		if err := d.Configure(t.Context(), block); err != nil {
			t.Fatal(err)
		}
		f := d.fingerprint(good())
		want := "state_dir " + c.dir + " " + c.reason
		if f.Health != drivers.Unhealthy || f.Reason != want {
			t.Errorf("got %s: %s, want %s", f.Health, f.Reason, want)
		}
	}
}

// A full directory is told with the start that has failed of it, and what is full may be
// emptied.
func TestDriver_startInAFullStateDir_saysSoAndMayBeRetried(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Driver, flock *fakeFlock) {
		d.agent.StateDir = mounted(t, 0, "nr_inodes=1")
		flock.refuse = &os.PathError{Op: "mkdir", Path: filepath.Join(d.agent.StateDir, "x"),
			Err: unix.ENOSPC}
		_, err := d.Start(t.Context(), block(t, map[string]any{"command": "web"}))
		want := "no space left on device; state_dir " + d.agent.StateDir + " is full"
		_, again := errors.AsType[*drivers.RecoverableError](err)
		if !again || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v (to be retried: %t), want %s", err, again, want)
		}
	})
}
