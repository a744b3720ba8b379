package driver_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"doze/plugins/drivers"
	"doze/plugins/drivertest"
)

// A task of a group with a network namespace of its own listens there, at the port that the
// group's port is mapped to.
func TestPlugin_groupsNetworkNamespace_isWhereTheTaskListens(t *testing.T) {
	s := subject(t)
	ns := newNetwork(t)
	a := drivertest.Boot(t, s.Config)
	task := a.NewTask("task", map[string]any{"command": "sleep", "args": []any{"1000"},
		"listen": "http", "start": "on_demand"})
	task.Network = &drivers.Network{Mode: drivers.NetworkGroup, Path: ns}
	task.Resources.Ports = []drivers.Port{
		{Label: "http", Value: 23456, To: 8080, HostIP: "127.0.0.1"}}
	if _, err := a.Run(task.TaskConfig); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", "127.0.0.1:8080"); err == nil {
		t.Error("the task listens on the machine")
	}
	if err := dialIn(t.Context(), ns, "127.0.0.1:8080"); err != nil {
		t.Errorf("nobody listens in the group's namespace: %v", err)
	}
}

// newNetwork makes a network namespace with a loopback device, as Nomad does, and returns
// its path.
func newNetwork(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ns")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	made := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		made <- errors.Join(unix.Unshare(unix.CLONE_NEWNET), loopbackUp(),
			unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, ""))
	}()
	if err := <-made; err != nil {
		t.Skipf("SKIP: no network namespace can be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return path
}

func loopbackUp() error {
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(sock)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(sock, unix.SIOCSIFFLAGS, lo)
}

// dialIn connects from within a namespace.
func dialIn(ctx context.Context, path, addr string) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		ns, err := os.Open(path)
		if err != nil {
			done <- err
			return
		}
		defer ns.Close()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			err = conn.Close()
		}
		done <- err
	}()
	return <-done
}
