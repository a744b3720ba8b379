package shepherd_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"doze/driver/shepherd"
)

// runAs plays the parts that this test binary has besides testing: the shepherd, and the
// applications under it. It reports false where it is to test.
func runAs(args []string) (status int, is bool) {
	switch {
	case len(args) > 1 && args[1] == "shepherd":
		return shepherd.Main(), true
	case len(args) > 2 && args[1] == "app":
		return runApp(args[2], args[3:]), true
	}
	return 0, false
}

func runApp(name string, args []string) int {
	apps := map[string]func([]string) error{
		"http":      appHTTP,
		"echo":      appEcho,
		"late":      appLate,
		"never":     appNever,
		"elsewhere": appElsewhere,
		"stubborn":  appStubborn,
		"bomb":      appBomb,
		"oom":       appOOM,
		"socket":    appSocket,
		"serial":    appSerial,
		"shutter":   appShutter,
		"write":     appWrite,
		"nonblock":  appNonblock,
		"orphan":    appOrphan,
		"poke":      appPoke,
		"locker":    appLocker,
		"launch":    appLaunch,
		"noting":    appNoting,
	}
	app := apps[name]
	if app == nil {
		fmt.Fprintln(os.Stderr, "no such app:", name)
		return 2
	}
	if err := app(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func appListen() (net.Listener, error) {
	return net.Listen("tcp", "127.0.0.1:"+os.Getenv("DOZE_PORT"))
}

// handler answers who it is, and does what it is told.
func handler(l net.Listener) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "pid %d uid %d", os.Getpid(), os.Getuid())
	})
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "fine")
	})
	mux.HandleFunc("/exit", func(_ http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.FormValue("code")) // 0 for anything else
		os.Exit(code)
	})
	mux.HandleFunc("/close", func(http.ResponseWriter, *http.Request) { _ = l.Close() })
	mux.HandleFunc("/count", func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, " bytes, ", err)
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(200 * time.Millisecond)
		fmt.Fprint(w, "at last")
	})
	mux.HandleFunc("/env", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Join(os.Environ(), "\n"))
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) {
		text, err := os.ReadFile("/proc/self/status")
		fmt.Fprintf(w, "%s%v", text, err)
	})
	return mux
}

func serveHTTP(l net.Listener) error {
	err := http.Serve(l, handler(l))
	if errors.Is(err, net.ErrClosed) {
		select {} // it goes on without its port
	}
	return err
}

// appHTTP serves, and ends with status 9 at SIGUSR1.
func appHTTP([]string) error {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR1)
	go func() {
		<-told
		os.Exit(9)
	}()
	l, err := appListen()
	if err != nil {
		return err
	}
	return serveHTTP(l)
}

func appLate([]string) error {
	time.Sleep(150 * time.Millisecond)
	return appHTTP(nil)
}

func appNever([]string) error {
	wait := make(chan os.Signal, 1)
	signal.Notify(wait, syscall.SIGUSR2)
	<-wait
	return nil
}

// appElsewhere listens, but not where it was told to.
func appElsewhere([]string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return serveHTTP(l)
}

func appStubborn([]string) error {
	signal.Ignore(syscall.SIGTERM)
	return appHTTP(nil)
}

// appEcho sends back what it gets, and says how much that was after a half-close.
func appEcho([]string) error {
	l, err := appListen()
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			n, _ := io.Copy(conn, conn)
			fmt.Fprintf(conn, "[%d]", n)
		}()
	}
}

// appBomb forks until it may not, makes a little room for itself, and serves.
func appBomb([]string) error {
	var children []*exec.Cmd
	for len(children) < 1000 {
		child := exec.Command("/bin/sleep", "60")
		if child.Start() != nil {
			break
		}
		children = append(children, child)
	}
	for range 10 {
		last := children[len(children)-1]
		children = children[:len(children)-1]
		if err := errors.Join(last.Process.Kill(), ignoreExit(last.Wait())); err != nil {
			return err
		}
	}
	return appHTTP(nil)
}

func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

// appOOM serves until somebody connects, then uses up its memory; where nothing limits it,
// not all of the machine's.
func appOOM([]string) error {
	l, err := appListen()
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/eat", func(http.ResponseWriter, *http.Request) {
		var all [][]byte
		for len(all) < 512 {
			block := make([]byte, 1<<20)
			for i := range block {
				block[i] = 1
			}
			all = append(all, block)
			runtime.KeepAlive(all)
		}
	})
	return http.Serve(l, mux)
}

// appWrite writes a line for each start, then serves.
func appWrite([]string) error {
	fmt.Println("started")
	fmt.Fprintln(os.Stderr, "complaint")
	return appHTTP(nil)
}

// appNonblock writes whether its output blocks, makes it not block, and serves.
func appNonblock([]string) error {
	flags, err := unix.FcntlInt(1, unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	fmt.Println("blocks", flags&unix.O_NONBLOCK == 0)
	if err := syscall.SetNonblock(1, true); err != nil {
		return err
	}
	return appHTTP(nil)
}

// appOrphan leaves children without a parent behind, then serves.
func appOrphan([]string) error {
	for range 5 {
		if err := exec.Command("/bin/sh", "-c", "/bin/true & /bin/true &").Run(); err != nil {
			return err
		}
	}
	return appHTTP(nil)
}
