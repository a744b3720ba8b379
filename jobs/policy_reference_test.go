package jobs

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"doze/healthgate"
)

var update = flag.Bool("policy.update", false, "write docs/policy.md and testdata/check anew")

// golden compares got with a file, or writes it there.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i, line := range gotLines {
		if i >= len(wantLines) || line != wantLines[i] {
			t.Fatalf("%s is stale (run: make generate) at line %d:\n%s", path, i+1, line)
		}
	}
	t.Fatalf("%s is stale (run: make generate): it has more lines", path)
}

func TestPolicyReference_docsPage_isWhatTheSchemasSay(t *testing.T) {
	head, err := os.ReadFile("testdata/policy_reference.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.Write(head)
	probe := &healthgate.ProbeConfig{}
	for _, block := range []struct {
		title string
		of    schema
	}{
		{"doze", policySchema(&Policy{})},
		{"route", routeSchema(&Route{})},
		{`probe "http"`, probeSchema("http", probe)},
		{`probe "tcp"`, probeSchema("tcp", probe)},
		{`probe "grpc"`, probeSchema("grpc", probe)},
		{"ignore", ignoreSchema(&Ignore{})},
	} {
		fmt.Fprintf(&b, "\n## `%s`\n\n", block.title)
		b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
		for _, s := range block.of {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.name, s.value.kind(), s.def, s.doc)
		}
	}
	golden(t, "../docs/policy.md", b.String())
}

// What the reference calls a default is what leaving the key out means.
func TestPolicyReference_defaultsWrittenOut_changeNothing(t *testing.T) {
	shape := GroupShape{Max: 3, Ports: []string{"http"}}
	written := map[string]any{}
	for _, s := range policySchema(&Policy{}) {
		switch s.value.(type) {
		case durationValue, textValue:
			if strings.HasPrefix(s.def, `"`) {
				written[s.name] = strings.Trim(s.def, `"`)
			}
		case numberValue:
			var n int
			if _, err := fmt.Sscan(s.def, &n); err == nil {
				written[s.name] = n
			}
		}
	}
	if len(written) < 7 {
		t.Fatalf("found too few defaults: %v", written)
	}
	got, wrong := ParsePolicy(written, shape)
	want, alsoWrong := ParsePolicy(map[string]any{}, shape)
	if len(wrong)+len(alsoWrong) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%v gives\n%+v, nothing gives\n%+v\n%v", written, got, want, wrong)
	}
}
