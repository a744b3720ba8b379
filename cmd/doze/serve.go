package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func serveVerb() verb {
	return verb{
		synopsis: "Run the gate and the control API",
		usage: "[options]\n\n" +
			"  Puts idle job groups to sleep and wakes them on request. Nomad is found as the\n" +
			"  nomad program finds it: NOMAD_ADDR, NOMAD_TOKEN, NOMAD_CACERT and so on.",
		prepare: prepareServe,
	}
}

func prepareServe(s *settings) action {
	var cfg serveConfig
	s.readsFile()
	cfg.declare(s)
	return func(ctx context.Context, term terminal, args []string) error {
		if err := noArgs(args); err != nil {
			return err
		}
		if err := cfg.validate(); err != nil {
			return &usageError{err}
		}
		client, err := newNomadClient(&cfg, term)
		if err != nil {
			return err
		}
		stack, err := newStack(cfg, client, newLogger(term, cfg))
		if err != nil {
			return err
		}
		hurry, stop := secondSignal(ctx)
		defer stop()
		return stack.run(ctx, hurry)
	}
}

// secondSignal returns a context that ends at the second signal to stop: whoever asks
// twice wants it to be quick.
func secondSignal(ctx context.Context) (context.Context, func()) {
	hurry, cancel := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with hurry
		for range 2 {
			select {
			case <-signals:
			case <-hurry.Done():
				return
			}
		}
		cancel()
	}()
	return hurry, func() { signal.Stop(signals); cancel() }
}
