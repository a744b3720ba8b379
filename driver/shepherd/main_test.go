package shepherd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// binary is a copy of the test binary that any user may execute; set by TestMain alone.
var binary string

func TestMain(m *testing.M) {
	if status, is := runAs(os.Args); is {
		os.Exit(status)
	}
	os.Exit(testAll(m))
}

func testAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "shepherd")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "app")
	if err := offer(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// offer puts the binary where every user reaches it: go test's own directory is closed.
func offer(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if os.Link(self, binary) == nil {
		return nil
	}
	content, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	return os.WriteFile(binary, content, 0o755)
}
