package layout_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rule says what a package tree of this module may import: other trees of the module, and
// which of the guarded third-party modules.
type rule struct {
	ours    []string
	guarded []string
	stdOnly bool // no third-party package at all
}

const (
	nomadAPI = "github.com/hashicorp/nomad/api"
	mux      = "github.com/gorilla/mux"
	goPlugin = "github.com/hashicorp/go-plugin"
	grpc     = "google.golang.org/grpc"
)

// table is the design's import table: imports point left only.
var table = map[string]rule{
	"healthgate":            {stdOnly: true},
	"healthgate/grpchealth": {ours: []string{"healthgate"}, guarded: []string{grpc}},
	"idle":                  {ours: []string{"healthgate"}, stdOnly: true},
	"jobs":                  {ours: []string{"healthgate", "idle"}, guarded: []string{nomadAPI}},
	"api/wire":              {stdOnly: true},
	"api":                   {ours: []string{"healthgate", "idle", "api/wire"}, guarded: []string{mux}},
	"plugins":               {ours: []string{"plugins"}, guarded: []string{goPlugin, grpc}},
	"driver": {
		ours:    []string{"healthgate", "idle", "plugins", "driver"},
		guarded: []string{goPlugin, grpc},
	},
	"internal/devnomad": {
		ours:    []string{"internal/devnomad", "plugins"},
		guarded: []string{nomadAPI, goPlugin, grpc},
	},
	"internal/realnomad": {guarded: []string{nomadAPI}},
	"internal/demoapp":   {},
	"internal/layout":    {stdOnly: true},
	"cmd/doze": {
		ours: []string{"healthgate", "idle", "jobs", "api", "api/wire", "driver", "plugins",
			"internal/devnomad", "internal/demoapp"},
		guarded: []string{nomadAPI},
	},
	"e2e": {
		ours:    []string{"api/wire", "internal/devnomad", "internal/realnomad", "internal/demoapp", "e2e"},
		guarded: []string{nomadAPI, grpc},
	},
}

type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

func TestImports_everyPackage_pointLeftOnly(t *testing.T) {
	for _, pkg := range packages(t) {
		tree := treeOf(strings.TrimPrefix(pkg.ImportPath, "doze/"))
		r, ok := table[tree]
		if !ok {
			t.Errorf("package %s has no row in the import table: add one", pkg.ImportPath)
			continue
		}
		for _, imported := range pkg.Imports {
			if problem := r.problem(tree, imported); problem != "" {
				t.Errorf("%s imports %s: %s", pkg.ImportPath, imported, problem)
			}
		}
	}
}

// problem says why a package of the tree must not import the path, or "".
func (r rule) problem(tree, path string) string {
	if own, ok := strings.CutPrefix(path, "doze/"); ok {
		other := treeOf(own)
		if other == tree || slices.Contains(r.ours, other) {
			return ""
		}
		return "not in the import table of " + tree
	}
	if !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		return "" // standard library
	}
	if r.stdOnly {
		return tree + " uses the standard library only"
	}
	if strings.HasPrefix(path, "github.com/hashicorp/nomad/") && !within(path, nomadAPI) {
		return "the root module of Nomad is never imported"
	}
	for _, guard := range []string{nomadAPI, mux, goPlugin, grpc} {
		if within(path, guard) && !slices.Contains(r.guarded, guard) {
			return guard + " is not for " + tree
		}
	}
	return ""
}

func within(path, module string) bool {
	return path == module || strings.HasPrefix(path, module+"/")
}

// treeOf returns the longest row of the table that the package lies in.
func treeOf(path string) string {
	best := path
	found := ""
	for tree := range table {
		if within(path, tree) && len(tree) > len(found) {
			found = tree
		}
	}
	if found != "" {
		best = found
	}
	return best
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-tags", "e2e", "-json=ImportPath,Standard,Imports", "doze/...")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("cannot list the packages: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("cannot list the packages: %v", err)
	}
	var pkgs []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg goPackage
		if err := dec.Decode(&pkg); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatalf("cannot read the list of packages: %v", err)
		}
		pkgs = append(pkgs, pkg)
	}
}
