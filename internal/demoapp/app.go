// Package demoapp holds the three small applications that `doze demo` puts to sleep and
// wakes: one that boots at once, one that is slow to be ready, one that streams. They know
// nothing of Doze.
package demoapp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// constructors are the applications by name. The time is that of the start.
var constructors = map[string]func(started time.Time) http.Handler{
	"hello": newHello,
	"slow":  newSlow,
	"echo":  newEcho,
}

// Names returns the applications' names, sorted.
func Names() []string { return slices.Sorted(maps.Keys(constructors)) }

// Handler returns the named application as if it had been started at the given time.
func Handler(name string, started time.Time) (http.Handler, error) {
	construct, ok := constructors[name]
	if !ok {
		return nil, fmt.Errorf("unknown application %q: there are %s",
			name, strings.Join(Names(), ", "))
	}
	return construct(started), nil
}

// Run serves the named application at addr until ctx ends, then lets requests in flight
// finish for up to five seconds.
func Run(ctx context.Context, name, addr string) error {
	handler, err := Handler(name, time.Now())
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen for application %q: %w", name, err)
	}
	return serve(ctx, listener, handler)
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // ends at Shutdown or Close below
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-served
	return err
}
