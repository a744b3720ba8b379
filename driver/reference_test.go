package driver

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"doze/plugins/hclspec"
)

// docs/driver.md tells every key that there is, and no other.
func TestReference_everyKey_isInTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../docs/driver.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|")
	var told []string
	for _, match := range row.FindAllStringSubmatch(string(text), -1) {
		told = append(told, match[1])
	}
	known := probeKinds()
	for _, schema := range []hclspec.Spec{taskSchema(), agentSchema()} {
		for key := range schema.(hclspec.Object) {
			known = append(known, key)
			if !slices.Contains(told, key) {
				t.Errorf("%s has no row", key)
			}
		}
	}
	for _, key := range told {
		if !slices.Contains(known, key) {
			t.Errorf("there is a row for %s, which is none of %v", key, known)
		}
	}
	for _, block := range []hclspec.Spec{probeSchema(), logsSchema()} {
		for key := range block.(hclspec.Object) {
			if !strings.Contains(string(text), "`"+key+"`") {
				t.Errorf("the block's key %s is not told", key)
			}
		}
	}
}
