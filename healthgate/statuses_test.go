package healthgate_test

import (
	"strings"
	"testing"

	"doze/healthgate"
)

func TestParseStatuses_list_containsWhatItSays(t *testing.T) {
	s, err := healthgate.ParseStatuses("200, 204,300 - 399")
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[int]bool{
		199: false, 200: true, 201: false, 204: true, 299: false, 300: true, 399: true, 400: false,
	} {
		if s.Contains(code) != want {
			t.Errorf("%d: %t", code, !want)
		}
	}
	if s.String() != "200,204,300-399" {
		t.Errorf("reads %q", s)
	}
}

func TestParseStatuses_nonsense_isAnError(t *testing.T) {
	for _, list := range []string{
		"", ",", "200,", "2xx", "20", "2000", "099", "600", "-", "200-", "-200", "300-200", "+20", "200-299-399",
	} {
		if s, err := healthgate.ParseStatuses(list); err == nil {
			t.Errorf("%q was read as %v", list, s)
		}
	}
}

func FuzzParseStatuses(f *testing.F) {
	f.Add("200,204,300-399")
	f.Add(" 100 - 599 ")
	f.Add("200-,")
	f.Fuzz(func(t *testing.T, list string) {
		s, err := healthgate.ParseStatuses(list)
		if err != nil {
			return
		}
		if len(s) != strings.Count(list, ",")+1 {
			t.Fatalf("%q has %d items", list, len(s))
		}
		again, err := healthgate.ParseStatuses(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q reads back as %v, %v", s, again, err)
		}
		for _, code := range []int{0, 99, 600, 1000} {
			if s.Contains(code) {
				t.Fatalf("%q contains %d", list, code)
			}
		}
	})
}
