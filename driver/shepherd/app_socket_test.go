package shepherd_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// givenListener is the socket that the application was given, as sd_listen_fds(3) says.
func givenListener() (net.Listener, error) {
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) || os.Getenv("LISTEN_FDS") != "1" {
		return nil, fmt.Errorf("LISTEN_PID=%s LISTEN_FDS=%s at pid %d",
			os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS"), os.Getpid())
	}
	file := os.NewFile(3, "listener")
	defer file.Close()
	return net.FileListener(file)
}

// appSocket serves the socket that it was given.
func appSocket([]string) error {
	l, err := givenListener()
	if err != nil {
		return err
	}
	return serveHTTP(l)
}

// appSerial echoes, to one client after the other.
func appSerial([]string) error {
	l, err := givenListener()
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		_, _ = io.Copy(conn, conn)
		_ = conn.Close() // its client has left, in whatever way
	}
}

// appShutter serves, and at SIGTERM shuts the socket itself down, for whoever has it.
func appShutter([]string) error {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	l, err := givenListener()
	if err != nil {
		return err
	}
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	go func() {
		<-told
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
		os.Exit(0)
	}()
	return serveHTTP(l)
}
