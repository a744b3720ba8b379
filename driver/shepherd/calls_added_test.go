package shepherd_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"doze/driver/shepherd"
	"doze/idle"
)

// A shepherd of tomorrow says more than this client knows, one of yesterday less.
func TestCalls_answerOfAnotherVersion_isReadForWhatIsKnown(t *testing.T) {
	more := json.RawMessage(`{"last":true,"tomorrow":1,"result":{"state":"ready","tomorrow":[2]}}`)
	_, got, err := play(t, []answer{message(1, more)},
		func(ctx context.Context, c *shepherd.Client) (any, error) {
			s, err := c.Status(ctx)
			s.Shepherd = 0
			return s, err
		})
	if want := (shepherd.Status{State: idle.Ready}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read was %+v, %v, not %+v", got, err, want)
	}
	unknown := json.RawMessage(`{"seq":1,"kind":"tomorrow","message":"new","tomorrow":{}}`)
	enough := errors.New("enough")
	_, got, err = play(t, []answer{message(1, unknown)},
		func(ctx context.Context, c *shepherd.Client) (e any, err error) {
			err = c.Events(ctx, func(told shepherd.Event) error { e = told; return enough })
			return e, err
		})
	want := shepherd.Event{Seq: 1, Kind: "tomorrow", Message: "new"}
	if !errors.Is(err, enough) || !reflect.DeepEqual(got, want) {
		t.Errorf("read was %+v, %v, not %+v", got, err, want)
	}
}

// parseGolden is the golden, by the names of its calls. Where there is none it is empty.
func parseGolden(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(goldenFile)
	if err != nil && !(*update && os.IsNotExist(err)) {
		t.Fatal(err)
	}
	return parseScripts(string(text))
}

func parseScripts(text string) map[string][]string {
	scripts := map[string][]string{}
	for script := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		name, lines, found := strings.Cut(script, "\n")
		if found {
			scripts[strings.TrimPrefix(name, "# ")] = strings.Split(lines, "\n")
		}
	}
	return scripts
}

// lostFrom is what a golden says and its successor does not: a call, a field or its value, a
// kind of event.
func lostFrom(t *testing.T, golden, now map[string][]string) (lost []string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(golden)) {
		has := map[string]bool{}
		for _, line := range now[name] {
			for _, fact := range facts(t, line) {
				has[fact] = true
			}
		}
		for _, line := range golden[name] {
			for _, fact := range facts(t, line) {
				if !has[fact] {
					lost = append(lost, name+": "+fact)
				}
			}
		}
	}
	return lost
}

// facts are a line's fields and their values, each as one text; of bytes it is the line.
func facts(t *testing.T, line string) []string {
	t.Helper()
	content, is := strings.CutPrefix(line[len("> "):], "m ")
	if !is {
		return []string{line}
	}
	var v any
	if err := json.Unmarshal([]byte(content), &v); err != nil {
		t.Fatalf("cannot read %q: %v", line, err)
	}
	return leaves(line[:1], v)
}

func leaves(at string, v any) (all []string) {
	fields, is := v.(map[string]any)
	if !is {
		return []string{fmt.Sprintf("%s %v", at, v)}
	}
	for key, value := range fields {
		if key == "error" {
			value = "" // the words of an error are free
		}
		all = append(all, leaves(at+" > "+key, value)...)
	}
	return all
}
