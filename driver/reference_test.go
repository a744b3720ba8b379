package driver

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"doze/plugins/hclspec"
)

// The tables of docs/driver.md, by their first line.
const (
	agentTable = "| key of `config` | default | meaning |"
	taskTable  = "| key | value | default | meaning |"
	kindTable  = "| kind | keys |"
)

// rowsOf are the rows of a table of docs/driver.md, each in cells.
func rowsOf(t *testing.T, table string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("../docs/driver.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(text), "\n"+table+"\n")
	if !found {
		t.Fatalf("there is no table %s", table)
	}
	for line := range strings.Lines(below) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			return rows
		}
		if !strings.HasPrefix(line, "|---") {
			rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
		}
	}
	return rows
}

// docs/driver.md tells every key that there is, and no other.
func TestReference_everyKey_isInTheDocumentation(t *testing.T) {
	for table, schema := range map[string]hclspec.Spec{
		agentTable: agentSchema(), taskTable: taskSchema()} {
		var told []string
		for _, row := range rowsOf(t, table) {
			told = append(told, strings.Trim(row[0], "`"))
		}
		slices.Sort(told)
		known := slices.Sorted(maps.Keys(schema.(hclspec.Object)))
		if !slices.Equal(told, known) {
			t.Errorf("%s has %q, there are %q", table, told, known)
		}
	}
	text, err := os.ReadFile("../docs/driver.md")
	if err != nil {
		t.Fatal(err)
	}
	for key := range logsSchema().(hclspec.Object) {
		if !strings.Contains(string(text), "`"+key+"`") {
			t.Errorf("the key %s of the block logs is not told", key)
		}
	}
}

// The probe's kinds, each with its keys, are those that there are.
func TestReference_everyKindOfProbe_isInTheDocumentation(t *testing.T) {
	word := regexp.MustCompile("`([a-z_]+)`")
	var kinds, keys []string
	for _, row := range rowsOf(t, kindTable) {
		if kind := strings.Trim(row[0], "`"); kind != "all" {
			kinds = append(kinds, kind)
		}
		if len(row) > 1 { // the keys of tcp are those of all
			for _, match := range word.FindAllStringSubmatch(row[1], -1) {
				keys = append(keys, match[1])
			}
		}
	}
	slices.Sort(kinds)
	if known := slices.Sorted(slices.Values(probeKinds())); !slices.Equal(kinds, known) {
		t.Errorf("the kinds are %q, there are %q", kinds, known)
	}
	for key := range probeSchema().(hclspec.Object) {
		if !slices.Contains(keys, key) {
			t.Errorf("the key %s of the block probe is not told", key)
		}
	}
	for _, key := range keys {
		if _, there := probeSchema().(hclspec.Object)[key]; !there && !slices.Contains(kinds, key) {
			t.Errorf("a probe has no key %s", key)
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
