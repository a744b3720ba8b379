package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
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

func reference() []byte {
	var b bytes.Buffer
	b.WriteString("# The command line\n\nWritten by `make generate` from the verbs themselves.\n\n" +
		"Every option has a flag, a variable (in brackets) and, for `doze serve`, a key in the\n" +
		"file that `-config` names: `-gate-address`, `DOZE_GATE_ADDRESS`, `gate_address`. The\n" +
		"flag wins over the variable, the variable over the file.\n")
	noEnv := func(string) (string, bool) { return "", false }
	factories := commands(terminal{env: noEnv})
	for _, name := range slices.Sorted(maps.Keys(factories)) {
		command, err := factories[name]()
		if err != nil || name == "app" {
			continue
		}
		fmt.Fprintf(&b, "\n## doze %s\n\n%s.\n\n```\n%s\n```\n", name, command.Synopsis(),
			strings.TrimSpace(command.Help()))
	}
	return b.Bytes()
}
