package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every job file under testdata/check has what is found in it beside it.
func TestCheckFile_jobFile_givesWhatIsBesideIt(t *testing.T) {
	files, err := filepath.Glob("testdata/check/*[nl]")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d job files, %v", len(files), err)
	}
	for _, path := range files {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			managed, wrong := CheckFile(name, src)
			golden(t, path+".want", written(managed, wrong))
		})
	}
}

func written(managed []Managed, wrong Diagnostics) string {
	var b strings.Builder
	for _, m := range managed {
		p := m.Policy
		fmt.Fprintf(&b, "%s: %s: count %d of %d, after %s on port %s\n",
			m.Pos, m.ID, m.Count, m.Max, p.IdleAfter, p.Port)
		for _, r := range p.Routes {
			fmt.Fprintf(&b, "\troute %v %s\n", r.Hosts, r.PathPrefix)
		}
		fmt.Fprintf(&b, "\tprobe %s %s %v %s\n",
			p.Probe.Kind, p.Probe.Path, p.Probe.Header, p.Probe.Interval)
	}
	if len(wrong) > 0 {
		fmt.Fprintln(&b, wrong.Error())
	}
	return b.String()
}
