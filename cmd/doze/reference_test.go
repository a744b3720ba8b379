package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:generate go test -run ^TestReference_docs_areCurrent$ -update .

var update = flag.Bool("update", false, "write docs/cli.md anew")

const referencePath = "../../docs/cli.md"

// TestReference_docs_areCurrent compares docs/cli.md with what the verbs say of themselves.
func TestReference_docs_areCurrent(t *testing.T) {
	want := reference()
	if *update {
		if err := os.WriteFile(referencePath, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referencePath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("docs/cli.md is stale; run: make generate")
	}
}

const sampleConfig = `# doze.hcl, for: doze serve -config doze.hcl
gate_address     = "0.0.0.0:8080"
api_address      = "127.0.0.1:4660"
nomad_address    = "http://127.0.0.1:4646"
nomad_token_file = "/etc/doze/nomad-token" # leave it out where ACLs are off
namespaces       = ["default", "shop"]
drain_delay      = "5s"
shutdown_timeout = "30s"
log_format       = "json"
`

func TestReference_sampleOfTheFile_isRight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doze.hcl")
	if err := os.WriteFile(path, []byte(sampleConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	var cfg serveConfig
	s := newSettings("serve", func(string) (string, bool) { return "", false })
	cfg.declare(s)
	s.readsFile()
	if _, err := s.load([]string{"-config", path}); err != nil {
		t.Fatal(err)
	}
	if err := cfg.validate(); err != nil || cfg.Namespaces != "default,shop" ||
		cfg.DrainDelay != 5*time.Second {
		t.Errorf("%+v: %v", cfg, err)
	}
}

func reference() []byte {
	var b bytes.Buffer
	b.WriteString("# The command line\n\nWritten by `make generate` from the verbs themselves.\n\n" +
		"Every option has a flag, a variable (in brackets) and, for `doze serve`, a key in the\n" +
		"file that `-config` names: `-gate-address`, `DOZE_GATE_ADDRESS`, `gate_address`. The\n" +
		"flag wins over the variable, the variable over the file. All flags come before the\n" +
		"arguments.\n\n" +
		"```\n" + sampleConfig + "```\n")
	noEnv := func(string) (string, bool) { return "", false }
	factories := commands(terminal{env: noEnv})
	for _, name := range slices.Sorted(maps.Keys(factories)) {
		command, err := factories[name]()
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "\n## doze %s\n\n%s.\n\n```\n%s\n```\n", name, command.Synopsis(),
			strings.TrimSpace(command.Help()))
	}
	return b.Bytes()
}
