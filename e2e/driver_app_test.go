//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func init() { apps["driven"] = serveDriven }

// serveDriven is an application that does what a request says: end, write to its log, take
// memory, close its port. It answers / with when it started, which tells it from every other
// process, and with its user; tells its log of SIGUSR1; ignores SIGTERM with E2E_STUBBORN.
func serveDriven(listener net.Listener, started time.Time) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for range signals {
			fmt.Println("told SIGUSR1")
		}
	}()
	if os.Getenv("E2E_STUBBORN") != "" {
		signal.Ignore(syscall.SIGTERM)
	}
	fmt.Println("begins")
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, started.UnixNano(), " ", os.Getuid())
	})
	mux.HandleFunc("/exit", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.FormValue("code"))
		after, _ := time.ParseDuration(r.FormValue("after"))
		time.AfterFunc(after, func() { os.Exit(code) })
	})
	mux.HandleFunc("/log", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.FormValue("line"))
	})
	mux.HandleFunc("/toil", toil)
	mux.HandleFunc("/eat", func(w http.ResponseWriter, r *http.Request) { eat() })
	mux.HandleFunc("/close", func(w http.ResponseWriter, r *http.Request) { listener.Close() })
	fmt.Fprintln(os.Stderr, http.Serve(listener, mux))
	select {} // an application that has closed its port lives on
}

// eat takes memory until there is none.
func eat() {
	var eaten [][]byte
	for range 1 << 12 {
		page := make([]byte, 1<<20)
		for i := 0; i < len(page); i += 4096 {
			page[i] = 1
		}
		eaten = append(eaten, page)
	}
	fmt.Println(len(eaten))
}
