package shepherd_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"doze/driver/shepherd"
	"doze/idle"
)

// stateDisk is a directory on a file system of its own.
func stateDisk(t *testing.T, options string) string {
	t.Helper()
	asRoot(t)
	parent := filepath.Dir(socketDir(t))
	if err := unix.Mount("tmpfs", parent, "tmpfs", 0, options+",mode=755"); err != nil {
		t.Skip("NEEDS TO MOUNT: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(parent, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return parent
}

// fill leaves no byte free.
func fill(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for page := make([]byte, 4096); err == nil; {
		_, err = file.Write(page)
	}
	if !strings.Contains(err.Error(), "no space left on device") {
		t.Fatal(err)
	}
}

func TestLaunch_noRoomForItsDirectory_failsAndLeavesNothing(t *testing.T) {
	for name, inodes := range map[string]string{
		"directory": "nr_inodes=1", "log": "nr_inodes=2", "socket": "nr_inodes=3",
	} {
		t.Run(name, func(t *testing.T) {
			disk := stateDisk(t, inodes)
			_, err := shepherd.Launch(t.Context(), filepath.Join(disk, "x"), spec(t, "http"))
			if err == nil {
				t.Fatal("launched")
			}
			wantIn(t, err.Error(), "no space left on device")
			if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
				t.Errorf("there is %v, %v", left, err)
			}
		})
	}
}

// Nothing that a shepherd does for its task needs a disk: only its own log loses lines.
func TestClient_diskFullBeforeOrAfterItsStart_doesAllTheSame(t *testing.T) {
	for _, before := range []bool{true, false} {
		disk := stateDisk(t, "size=16k")
		if before {
			fill(t, disk)
		}
		c, err := shepherd.Launch(t.Context(), filepath.Join(disk, "x"), spec(t, "http"))
		if err != nil {
			t.Fatal(err)
		}
		awaitState(t, c, idle.Ready)
		if !before {
			fill(t, disk)
		}
		for _, depth := range []idle.Depth{idle.Freeze, idle.Park} {
			sleep(t, c, depth)
			wantIn(t, mustGet(t, c, "/"), "pid ")
		}
		if out := run(t, c, "echo", "word"); out != "word\n" {
			t.Errorf("a command wrote %q", out)
		}
		if err := c.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
