package driver_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// started are the processes that a process has started: its children, and whatever has the
// mark in its environment.
func started(t *testing.T, pid int, mark string) (found []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are %d processes, %v", len(paths), err)
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		status, _ := os.ReadFile(path) // it may have ended
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		child := bytes.Contains(status, fmt.Appendf(nil, "\nPPid:\t%d\n", pid))
		marked := bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00"))
		if (child || marked) && filepath.Base(dir) != fmt.Sprint(pid) {
			found = append(found, fmt.Sprintf("%s %q", filepath.Base(dir), args))
		}
	}
	return found
}

// listening are the sockets by which others reach a process, beside go-plugin's own.
func listening(t *testing.T, pid int, own string) (found []string) {
	t.Helper()
	sockets := map[string]bool{}
	for _, path := range descriptors(t, pid) {
		if inode, is := strings.CutPrefix(path, "socket:["); is {
			sockets[strings.TrimSuffix(inode, "]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		for _, row := range socketTable(t, pid, table) {
			if len(row) > 9 && sockets[row[9]] {
				found = append(found, table+" "+row[1])
			}
		}
	}
	for _, table := range []string{"packet", "netlink"} {
		for _, row := range socketTable(t, pid, table) {
			if len(row) > 0 && sockets[row[len(row)-1]] {
				found = append(found, table)
			}
		}
	}
	const accepts = "00010000" // __SO_ACCEPTCON
	ours := 0
	for _, row := range socketTable(t, pid, "unix") {
		switch {
		case len(row) < 7 || row[3] != accepts || !sockets[row[6]]:
		case len(row) == 8 && strings.HasPrefix(row[7], own+"/"):
			ours++
		default:
			found = append(found, "unix "+strings.Join(row[7:], ""))
		}
	}
	if ours != 1 {
		found = append(found, fmt.Sprintf("%d in its TMPDIR", ours))
	}
	return found
}

// socketTable are the rows of a table of proc(5), in the network of a process.
func socketTable(t *testing.T, pid int, name string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, name))
	if os.IsNotExist(err) {
		return nil // the kernel has none of that kind
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

// descriptors are what a process has open, by its number.
func descriptors(t *testing.T, pid int) map[string]string {
	t.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) < 3 {
		t.Fatalf("process %d has %d files open, %v", pid, len(fds), err)
	}
	open := map[string]string{}
	for _, fd := range fds {
		path, err := os.Readlink(fd)
		switch {
		case os.IsNotExist(err): // closed meanwhile
		case err != nil:
			t.Fatal(err)
		default:
			open[fd] = path
		}
	}
	return open
}

// writable are the files and directories of the machine that a process has open to write to.
// Its pipes and sockets are none of them.
func writable(t *testing.T, pid int) (paths []string) {
	t.Helper()
	for fd, path := range descriptors(t, pid) {
		info, err := os.ReadFile(strings.Replace(fd, "/fd/", "/fdinfo/", 1))
		if os.IsNotExist(err) {
			continue // closed meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		_, flags, _ := strings.Cut(string(info), "flags:\t")
		var mode int
		if _, err := fmt.Sscanf(flags, "%o", &mode); err != nil {
			t.Fatalf("cannot read the flags of %s in %q: %v", fd, info, err)
		}
		if strings.HasPrefix(path, "/") && path != os.DevNull && mode&unix.O_ACCMODE != unix.O_RDONLY {
			paths = append(paths, path)
		}
	}
	return paths
}
