package shepherd_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"doze/driver/shepherd"
	"doze/healthgate"
	"doze/idle"
)

// A freeze that is put off has what runs probed again before it gets requests. Meanwhile it
// answers for itself all the same.
func TestShield_freezePutOff_isTheApplicationsToAnswer(t *testing.T) {
	withFreezer(t)
	s := spec(t, "echo")
	s.Shield = []string{"/healthz"}
	passes := filepath.Join(s.Dir, "passes")
	if err := os.WriteFile(passes, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Probe = healthgate.ProbeConfig{Kind: "exec",
		Command: []string{"/bin/sh", "-c", "test -e " + passes}}
	c := launch(t, s)
	conn := dial(t, c)
	echo(t, conn, "it listens") // which its probe does not say
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	addr := awaitState(t, c, idle.Ready).Listen
	wantEchoOfCheck(t, addr) // and stays open, so that nothing is frozen under it
	if err := os.Remove(passes); err != nil {
		t.Fatal(err)
	}
	if err := c.Sleep(t.Context(), idle.Freeze); !errors.Is(err, shepherd.ErrInUse) {
		t.Fatal(err)
	}
	if s := status(t, c); s.State != idle.Ready {
		t.Fatalf("%+v", s)
	}
	wantEchoOfCheck(t, addr)
}

// wantEchoOfCheck asks for a shielded path over a connection that stays open.
func wantEchoOfCheck(t *testing.T, addr string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, check); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("GET /healthz"))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "GET /healthz" {
		t.Fatalf("%q %v", got, err)
	}
}
