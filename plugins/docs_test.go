package plugins_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName   = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")
	clauseName = regexp.MustCompile("`([a-z]+_\\w+_\\w+)`")
)

func TestDocs_testsThatHoldWhatTheySay_exist(t *testing.T) {
	page, err := os.ReadFile("../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") && path != "drivertest/contract.go" {
			return err
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := testName.FindAllStringSubmatch(string(page), -1)
	clauses := clauseName.FindAllStringSubmatch(string(page), -1)
	if len(tests) < 30 || len(clauses) < 4 {
		t.Errorf("the page names %d tests and %d clauses", len(tests), len(clauses))
	}
	for _, name := range tests {
		if !strings.Contains(code.String(), "\nfunc "+name[1]+"(") {
			t.Errorf("there is no %s", name[1])
		}
	}
	for _, name := range clauses {
		if !strings.Contains(code.String(), `{"`+name[1]+`",`) {
			t.Errorf("the contract has no %s", name[1])
		}
	}
}
