//go:build e2e

package e2e

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// apps are the applications that tasks run, by E2E_APP. Each gets a listener that has just
// been opened, and when.
var apps = map[string]func(net.Listener, time.Time){
	"web":  serveWeb,
	"grpc": serveGRPC,
}

// runApp is the whole life of an application. E2E_DELAY is waited before the port opens;
// E2E_EXIT ends it with that status instead.
func runApp(name string) {
	if status, err := strconv.Atoi(os.Getenv("E2E_EXIT")); err == nil {
		fmt.Fprintln(os.Stderr, "ending as told")
		os.Exit(status)
	}
	if delay, err := time.ParseDuration(os.Getenv("E2E_DELAY")); err == nil {
		time.Sleep(delay)
	}
	listener, err := listen()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	opened := time.Now()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		os.Exit(0)
	}()
	apps[name](listener, opened)
}

// listen opens the port that Nomad says, or takes the socket that the application is given
// as systemd gives one: descriptor 3.
func listen() (net.Listener, error) {
	if os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) {
		return net.FileListener(os.NewFile(3, "listener"))
	}
	return net.Listen("tcp", os.Getenv("NOMAD_ADDR_http"))
}

// serveWeb answers "/" with its allocation's ID and, in X-Opened, when its port opened.
func serveWeb(listener net.Listener, opened time.Time) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Opened", strconv.FormatInt(opened.UnixNano(), 10))
		fmt.Fprint(w, os.Getenv("NOMAD_ALLOC_ID"))
	})
	mux.HandleFunc("/sum", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.New()
		n, err := io.Copy(sum, r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, "%d %x", n, sum.Sum(nil))
	})
	mux.HandleFunc("/drip", drip)
	mux.HandleFunc("/echo", echoSocket)
	fmt.Fprintln(os.Stderr, http.Serve(listener, mux))
}

// drip sends n bytes, one every interval.
func drip(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.FormValue("n"))
	every, _ := time.ParseDuration(r.FormValue("every"))
	w.Header().Set("Content-Length", strconv.Itoa(n))
	for range n {
		if _, err := w.Write([]byte(".")); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush() // the next write tells of a lost client
		time.Sleep(every)
	}
}
