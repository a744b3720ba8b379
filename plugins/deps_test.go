package plugins_test

import (
	"os/exec"
	"strings"
	"testing"
)

// officialPackages is what a driver on Nomad's own SDK pulls in: packages that are not the
// standard library's. To count again, in the source of Nomad 2.0.5:
//
//	go list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' ./plugins | wc -l
//
// It is a little less elsewhere: 319 in the source of 1.6.10, 342 in a module of one's own that
// requires Nomad v1.10.5, and 347 with v1.11.3, by the same command with the package's whole
// path, github.com/hashicorp/nomad/plugins.
const officialPackages = 351

func TestDependencies_ofAPlugin_areLessThanHalfOfTheOfficialSDKs(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "doze/plugins")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot list the packages: %v", err)
	}
	packages := strings.Fields(string(out))
	ours := 0
	for _, pkg := range packages {
		if strings.HasPrefix(pkg, "doze/") {
			ours++
		}
		if strings.HasPrefix(pkg, "github.com/hashicorp/nomad/") {
			t.Errorf("%s is Nomad's own code", pkg)
		}
	}
	t.Logf("a plugin pulls in %d packages, %d of them the SDK's own; on Nomad's SDK: %d",
		len(packages), ours, officialPackages)
	if len(packages) >= officialPackages/2 {
		t.Errorf("%d packages are not less than half of %d", len(packages), officialPackages)
	}
}
