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

// What a task may say without listen, the documentation names: the rest is refused.
func TestReference_keysWithoutListen_areThoseThatAreTaken(t *testing.T) {
	text, err := os.ReadFile("../docs/driver.md")
	if err != nil {
		t.Fatal(err)
	}
	sentence := regexp.MustCompile(`nothing of the rest may be set but (.*?)\. `).Find(text)
	var told []string
	for _, match := range regexp.MustCompile("`([a-z_]+)`").FindAllSubmatch(sentence, -1) {
		told = append(told, string(match[1]))
	}
	values := map[string]any{"freeze_after": "1s", "park_after": "1s",
		"start": "on_demand", "activation": "socket", "port_env": "PORT", "wake_timeout": "3m",
		"park_signal": "SIGINT", "park_timeout": "1m", "shield": []string{"/"}, "pids_limit": 1,
		"logs": map[string]any{}, "probe": map[string]any{"tcp": map[string]any{}}}
	var taken []string
	for key := range taskSchema().(hclspec.Object) {
		if slices.Contains([]string{"command", "args", "listen"}, key) {
			continue
		}
		if values[key] == nil {
			t.Errorf("the test has no value for %s", key)
		}
		_, problems := readConfig(t, map[string]any{"command": "web", key: values[key]})
		if len(problems) == 0 {
			taken = append(taken, key)
		}
	}
	slices.Sort(told)
	slices.Sort(taken)
	if !slices.Equal(told, taken) {
		t.Errorf("told are %q, taken are %q", told, taken)
	}
}
