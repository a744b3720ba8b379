package driver

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/hclspec"
	"doze/plugins/host"
)

// referenceRow is a key of docs/driver.md, and the text of its column "default".
type referenceRow struct{ key, byDefault string }

// referenceRows are those of a table whose last columns are the default and the meaning.
func referenceRows(t *testing.T, table string) (rows []referenceRow) {
	t.Helper()
	for _, row := range rowsOf(t, table) {
		rows = append(rows, referenceRow{strings.Trim(row[0], "`"), row[strings.Count(table, "|")-3]})
	}
	return rows
}

// value is what a default would be in a block. A word without quotes is a block of that label.
func (r referenceRow) value(t *testing.T) any {
	t.Helper()
	text := strings.Trim(r.byDefault, "`")
	if slices.Contains(probeKinds(), text) {
		return map[string]any{text: map[string]any{}}
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil || text == r.byDefault {
		t.Errorf("the default of %s is %s: write a value in backticks, none or required",
			r.key, r.byDefault)
	}
	return v
}

// check holds a row against what a block means: without the key, and with its default for it.
func (r referenceRow) check(t *testing.T, schema hclspec.Spec, raw any,
	read func(keys map[string]any) any) {
	t.Helper()
	without, field := read(nil), fieldOf(raw, r.key)
	switch r.byDefault {
	case "required":
		if attr, ok := schema.(hclspec.Object)[r.key].(hclspec.Attr); !ok || !attr.Required {
			t.Errorf("%s is not required", r.key)
		}
	case "none":
		if now := reflect.ValueOf(without).FieldByName(field); !now.IsZero() {
			t.Errorf("without %s it is %v, not none", r.key, now)
		}
	default:
		if with := read(map[string]any{r.key: r.value(t)}); !reflect.DeepEqual(with, without) {
			t.Errorf("without %s a block means\n%+v\nand with its default, %s,\n%+v",
				r.key, without, r.byDefault, with)
		}
	}
}

// fieldOf is the name of the field that a key is read into.
func fieldOf(raw any, key string) string {
	fields := reflect.VisibleFields(reflect.TypeOf(raw))
	i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return f.Tag.Get("hcl") == key })
	if i < 0 {
		return ""
	}
	return fields[i].Name
}

// encoded is a block as an agent sends it, who follows the schema.
func encoded(t *testing.T, schema hclspec.Spec, keys map[string]any) []byte {
	t.Helper()
	raw, err := host.EncodeConfig(schema, keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestReference_defaultsOfTheAgentsBlock_areWhatALeftOutKeyMeans(t *testing.T) {
	rows := referenceRows(t, agentTable)
	for _, row := range rows {
		row.check(t, agentSchema(), rawAgent{}, func(keys map[string]any) any {
			c, err := readAgentConfig(base.Config{Raw: encoded(t, agentSchema(), keys)})
			if err != nil {
				t.Errorf("%v: %v", keys, err)
			}
			return c
		})
	}
}

func TestReference_defaultsOfATasksBlock_areWhatALeftOutKeyMeans(t *testing.T) {
	rows := referenceRows(t, taskTable)
	for _, row := range rows {
		row.check(t, taskSchema(), rawTask{}, func(keys map[string]any) any {
			block := map[string]any{"command": "web"}
			if row.key != "listen" { // most other keys mean something with it alone
				block["listen"] = "http"
			}
			maps.Copy(block, keys)
			var raw rawTask
			task := drivers.TaskConfig{Raw: encoded(t, taskSchema(), block)}
			if err := task.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			c, problems := raw.read()
			if len(problems) > 0 {
				t.Errorf("%v: %v", block, problems)
			}
			c.Probe.Kind = word(c.Probe.Kind, "tcp") // what package healthgate takes it for
			return c
		})
	}
}
