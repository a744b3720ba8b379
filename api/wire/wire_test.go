package wire_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"doze/api/wire"
)

func TestTime_json_isUTCWithMilliseconds(t *testing.T) {
	at := time.Date(2026, 3, 1, 13, 0, 0, 250_999_999, time.FixedZone("", 3600))
	text, err := json.Marshal(wire.Time{Time: at})
	if err != nil || string(text) != `"2026-03-01T12:00:00.250Z"` {
		t.Errorf("%s, %v", text, err)
	}
	var back wire.Time
	if err := json.Unmarshal(text, &back); err != nil || !back.Equal(at.Truncate(time.Millisecond)) {
		t.Errorf("read back as %s, %v", back, err)
	}
}

func TestDuration_json_isWhatParseDurationReads(t *testing.T) {
	text, err := json.Marshal(wire.Phase{Name: "boot", Took: wire.Duration(1500 * time.Millisecond)})
	if err != nil || !strings.Contains(string(text), `"took":"1.5s"`) {
		t.Errorf("%s, %v", text, err)
	}
	var p wire.Phase
	if err := json.Unmarshal(text, &p); err != nil || p.Took.String() != "1.5s" {
		t.Errorf("read back as %s, %v", p.Took, err)
	}
	err = json.Unmarshal([]byte(`{"took":"1.5"}`), &p)
	if err == nil || !strings.Contains(err.Error(), `"1.5"`) {
		t.Errorf("a duration without a unit: %v", err)
	}
}

func TestGroup_zeroValue_leavesOutWhatHasNotHappened(t *testing.T) {
	text, err := json.Marshal(wire.Group{Leases: []wire.Lease{}, Diagnostics: []wire.Diagnostic{}})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"since", "last_activity", "sleeps_at", "retry_at",
		"last_wake", "error", "depth"} {
		if _, there := fields[name]; there {
			t.Errorf("%s is there: %s", name, text)
		}
	}
}

// Every field of every shape has a snake_case name of its own.
func TestShapes_names_areSnakeCase(t *testing.T) {
	for _, shape := range []any{wire.Group{}, wire.GroupDetail{}, wire.Event{}, wire.Wake{},
		wire.Target{}, wire.Outcome{}, wire.LeaseOutcome{}, wire.Diagnostic{}, wire.Problem{},
		wire.Command{}, wire.Reset{}} {
		kind := reflect.TypeOf(shape)
		for field := range kind.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.Anonymous && (name == "" || name != strings.ToLower(name)) {
				t.Errorf("%s.%s is called %q", kind, field.Name, name)
			}
		}
	}
}

func TestID_paths_escapeEachPart(t *testing.T) {
	id := wire.ID{Namespace: "default", Job: "team/web", Group: "a b?"}
	if want := "/v1/groups/default/team%2Fweb/a%20b%3F"; id.Path() != want {
		t.Errorf("path %s, not %s", id.Path(), want)
	}
	if want := "/v1/groups/default/team%2Fweb/a%20b%3F/lease/x%2Fy"; id.LeasePath("x/y") != want {
		t.Errorf("lease path %s, not %s", id.LeasePath("x/y"), want)
	}
}

// FuzzID_path_namesTheSameGroup escapes and reads back.
func FuzzID_path_namesTheSameGroup(f *testing.F) {
	f.Add("default", "web", "app")
	f.Add("..", ".", "%2F/?#;&+ ")
	f.Fuzz(func(t *testing.T, namespace, job, group string) {
		id := wire.ID{Namespace: namespace, Job: job, Group: group}
		for _, path := range []string{id.Path(), id.WakePath(), id.SleepPath(), id.LeasePath(group)} {
			u, err := url.Parse(path)
			if err != nil {
				t.Fatal(err)
			}
			parts := strings.Split(strings.TrimPrefix(u.EscapedPath(), wire.GroupsPath+"/"), "/")
			for i, want := range []string{namespace, job, group} {
				if got, err := url.PathUnescape(parts[i]); err != nil || got != want {
					t.Errorf("%s: part %d is %q, not %q: %v", path, i, got, want, err)
				}
				if parts[i] == "." || parts[i] == ".." {
					t.Errorf("%s has a step in it", path)
				}
			}
		}
	})
}
