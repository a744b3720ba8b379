//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"doze/internal/realnomad"
)

// binary is the doze program under test.
var binary string

// TestMain is also the applications: a task runs the test program with E2E_APP set.
func TestMain(m *testing.M) {
	if name := os.Getenv("E2E_APP"); name != "" {
		runApp(name)
		return
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "doze-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = findBinary(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return realnomad.Main(m)
}

// findBinary is the program that `make e2e` has built, else one built now.
func findBinary(dir string) (string, error) {
	if path := os.Getenv("DOZE_BIN"); path != "" {
		return path, nil
	}
	path := filepath.Join(dir, "doze")
	out, err := exec.Command("go", "build", "-o", path, "doze/cmd/doze").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot build doze: %w\n%s", err, out)
	}
	return path, nil
}
