package idle_test

import (
	"flag"
	"os"
	"testing"

	"doze/idle/internal/statedoc"
)

var update = flag.Bool("update", false, "write docs/states.md and testdata anew")

const statesPage = "../docs/states.md"

func TestPage_machineChanged_docsStatesIsStale(t *testing.T) {
	want := statedoc.Page()
	if *update {
		if err := os.WriteFile(statesPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(statesPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/states.md is not what the machine does; run go generate ./idle/...")
	}
}
