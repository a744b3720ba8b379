package jobs

import (
	"slices"
	"strings"
	"testing"
)

func TestEachOf_array_givesEveryElementOrTheError(t *testing.T) {
	for text, want := range map[string]struct {
		elements []string
		fails    bool
	}{
		`[]`:              {nil, false},
		`null`:            {nil, false},
		`[{"ID":"a"}]`:    {[]string{"a"}, false},
		`[{}, {"ID":"b"}`: {[]string{"", "b"}, true},
		`[{"ID":"a"}, 3]`: {[]string{"a"}, true},
		`{"ID":"a"}`:      {nil, true},
		`<html>`:          {nil, true},
		``:                {nil, true},
	} {
		var got []string
		err := eachOf(strings.NewReader(text), func(s jobStub) { got = append(got, s.ID) })
		if !slices.Equal(got, want.elements) || (err != nil) != want.fails {
			t.Errorf("%s: %q, %v", text, got, err)
		}
		if err != nil && text == `{"ID":"a"}` && !notJSON(err) {
			t.Errorf("%s is taken for Nomad's: %v", text, err)
		}
	}
}
