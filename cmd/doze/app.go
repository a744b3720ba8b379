package main

import (
	"context"
	"strings"

	"doze/internal/demoapp"
)

// appVerb runs one of the demo's applications, as a task of an example job does.
func appVerb() verb {
	return verb{
		synopsis: "Run a small application, as the example jobs do",
		usage: strings.Join(demoapp.Names(), "|") + "\n\n" +
			"  Serves the application at -listen, by default at NOMAD_ADDR_http, else at\n" +
			"  127.0.0.1:8000. hello boots at once; slow answers 503 for its first two\n" +
			"  seconds; echo echoes WebSockets and bodies, and streams events.",
		prepare: func(s *settings) action {
			listen := s.flags.String("listen", "", "`address` to listen at")
			return func(ctx context.Context, term terminal, args []string) error {
				if len(args) != 1 {
					return usagef("name one application: %s", strings.Join(demoapp.Names(), ", "))
				}
				return demoapp.Run(ctx, args[0], appAddress(*listen, term))
			}
		},
	}
}

// appAddress is the flag's, else Nomad's for the label http, else a port of loopback.
func appAddress(flag string, term terminal) string {
	if flag != "" {
		return flag
	}
	if addr, ok := term.env("NOMAD_ADDR_http"); ok {
		return addr
	}
	return "127.0.0.1:8000"
}
