package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	nomad "github.com/hashicorp/nomad/api"
)

// TestNomadClient_tokenFileRenewed_isReadForEachRequest goes through a Unix socket, as in a
// task with a workload identity.
func TestNomadClient_tokenFileRenewed_isReadForEachRequest(t *testing.T) {
	dir := t.TempDir()
	socket, file := filepath.Join(dir, "api.sock"), filepath.Join(dir, "token")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("X-Nomad-Token"))
		_, _ = w.Write([]byte(`"127.0.0.1:4647"`))
	})}
	go server.Serve(listener) // ends with Close
	defer server.Close()
	write(t, file, "first\n")
	noEnv := func(string) (string, bool) { return "", false }
	client, err := newNomadClient(&serveConfig{NomadAddress: "unix://" + socket,
		NomadTokenFile: file}, terminal{env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(q *nomad.QueryOptions) {
		if _, err := client.Raw().Query("/v1/status/leader", new(string), q); err != nil {
			t.Error(err)
		}
	}
	ask(nil)
	write(t, file, "second")
	ask(nil)
	ask(&nomad.QueryOptions{AuthToken: "a caller's own"})
	want := []string{"first", "second", "a caller's own"}
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("the tokens sent were %q, want %q", got, want)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
