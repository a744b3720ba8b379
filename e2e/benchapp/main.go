// Command benchapp is the application that the benchmarks put to sleep and wake: small, of
// the standard library alone, and static, so that it also runs in a container made from
// scratch. It listens where Nomad says, or on the socket that it was given.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
)

func main() {
	listener, err := listen()
	if err == nil && len(os.Args) > 1 && os.Args[1] == "greet" {
		err = greet(listener)
	}
	if err == nil {
		err = http.Serve(listener, handler(listener))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func listen() (net.Listener, error) {
	if os.Getenv("LISTEN_FDS") == "1" { // sd_listen_fds(3)
		return net.FileListener(os.NewFile(3, "listener"))
	}
	return net.Listen("tcp", os.Getenv("NOMAD_ADDR_http"))
}

// handler answers a few bytes, its own address, and a stream of 256 MiB.
func handler(listener net.Listener) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello, world")
	})
	mux.HandleFunc("/addr", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, listener.Addr())
	})
	mux.HandleFunc("/bulk", func(w http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 64<<10)
		for range 256 << 20 / len(block) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	return mux
}

// greet speaks first, as the servers of many a protocol do, and hangs up.
func greet(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			_, _ = conn.Write([]byte("hello, world\n")) // whoever has left needs no greeting
			_ = conn.Close()
		}()
	}
}
