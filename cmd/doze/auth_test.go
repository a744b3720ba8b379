package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"doze/internal/devnomad"
)

// serving runs `doze serve` with these flags at an embedded cluster until the test ends. It
// returns it, and its log.
func serving(t *testing.T, flags ...string) (*stack, *bufio.Scanner) {
	t.Helper()
	cluster, err := devnomad.Start(devnomad.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var cfg serveConfig
	s := newSettings("serve", func(string) (string, bool) { return "", false })
	cfg.declare(s)
	free := []string{"-gate-address=127.0.0.1:0", "-api-address=127.0.0.1:0"}
	if _, err := s.load(append(free, flags...)); err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	served, err := newStack(cfg, cluster.Client(), slog.New(slog.NewTextHandler(in, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- served.run(ctx, context.Background()) }() // until the test ends
	t.Cleanup(func() {
		_ = out.Close() // what is logged from now on is nobody's
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return served, bufio.NewScanner(out)
}

// Where Nomad's ACLs are off they let nobody in: that is told before the first call, and to
// callers in words that help, whether they send a token or not.
func TestServe_aclsAreToGuardAndOff_isToldAtTheStartAndToCallers(t *testing.T) {
	served, log := serving(t, "-api-auth=nomad")
	told := false
	for !told && log.Scan() {
		told = strings.Contains(log.Text(), "nobody can use the API") &&
			strings.Contains(log.Text(), "use a bearer token file")
	}
	go func() { // until the log is closed: nothing may wait for a reader of it
		for log.Scan() {
		}
	}()
	if !told {
		t.Error("not told at the start")
	}
	for _, token := range []string{"", "11111111-2222-3333-4444-555555555555"} {
		var errs strings.Builder
		env := func(name string) (string, bool) { return token, name == "NOMAD_TOKEN" }
		address := "http://" + served.apiListener.Addr().String()
		status := run([]string{"status", "-address", address}, terminal{io.Discard, &errs, env})
		if status != exitRuntime || strings.Contains(errs.String(), "try again") ||
			!strings.Contains(errs.String(), "ACLs of Nomad are off") ||
			!strings.Contains(errs.String(), "-api-token-file") {
			t.Errorf("token %q: status %d, %s", token, status, &errs)
		}
	}
}
