package statedoc_test

import (
	"flag"
	"os"
	"testing"

	"doze/idle/internal/statedoc"
)

var update = flag.Bool("update", false, "write docs/states.md anew")

const page = "../../../docs/states.md"

func TestPage_machineChanged_docsStatesIsStale(t *testing.T) {
	want := statedoc.Page()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/states.md is not what the machine does; run go generate ./idle/...")
	}
}
