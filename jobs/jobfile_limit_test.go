package jobs_test

import (
	"strings"
	"testing"

	"doze/jobs"
)

// The HCL parser calls itself for every level, and a Go program cannot survive running out
// of stack.
func TestCheckFile_endlessNesting_isRefused(t *testing.T) {
	for name, src := range map[string]string{
		"brackets":  "a = " + strings.Repeat("[", 500_000),
		"blocks":    strings.Repeat("a {\n", 100_000),
		"templates": `a = "` + strings.Repeat(`${"`, 200_000),
		"signs":     "a = " + strings.Repeat("-", 500_000),
		"nots":      "a = " + strings.Repeat("! ", 500_000),
		"objects":   strings.Repeat(`{"a":`, 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			_, wrong := jobs.CheckFile("deep", []byte(src))
			if want := "deep: the file nests more than 10000 levels deep"; wrong.Error() != want {
				t.Errorf("got %.200v", wrong)
			}
		})
	}
}

func TestCheckFile_hugeFile_isRefused(t *testing.T) {
	_, wrong := jobs.CheckFile("huge", make([]byte, 1<<20+1))
	if want := "huge: the file is larger than 1048576 bytes"; wrong.Error() != want {
		t.Errorf("got %.200v", wrong)
	}
}
