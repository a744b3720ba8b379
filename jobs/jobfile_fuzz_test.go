package jobs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"doze/jobs"
)

// checkPolicy fails when a policy that was let through breaks a promise of Policy.
func checkPolicy(t *testing.T, p jobs.Policy, ports []string, most int) {
	t.Helper()
	switch {
	case p.IdleAfter < 100*time.Millisecond, p.WakeTimeout < 100*time.Millisecond,
		p.MinAwake < 0, p.DrainDelay < 0, p.DrainDelay >= p.WakeTimeout:
		t.Errorf("bad times: %+v", p)
	case p.WakeCount < 0 || p.WakeCount > most:
		t.Errorf("bad wake count: %+v", p)
	case p.MaxHeld < 1:
		t.Errorf("bad max_held: %+v", p)
	case len(ports) > 0 && p.Port == "":
		t.Errorf("no port: %+v", p)
	case p.Probe == nil:
		t.Error("no probe")
	case p.Probe.Validate() != nil:
		t.Errorf("bad probe: %v", p.Probe.Validate())
	case p.Probe.Kind == "exec":
		t.Error("an exec probe was let through")
	}
	for _, r := range p.Routes {
		if len(r.Hosts) == 0 || r.PathPrefix == "" || r.PathPrefix[0] != '/' {
			t.Errorf("bad route: %+v", r)
		}
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(whole))
	for _, seed := range []string{
		`null`, `[]`, `[[]]`, `{"probe":[{"http":[[{}]]}]}`, `[{"route":[[]]}]`,
		`{"route":{"hosts":["*.a","[::1]"]},"probe":{"grpc":null},"ignore":[null]}`,
		`[{"idle_after":"1e9h","max_held":1e999}]`, `[{"probe":[{"":{}}]}]`,
		`{"probe":{"http":{"headers":[{"Host":["a"],"":[null]}]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var block any
		if json.Unmarshal(data, &block) != nil {
			return
		}
		p, wrong := jobs.ParsePolicy(block, shape())
		if len(wrong) == 0 {
			checkPolicy(t, p, shape().Ports, shape().Max)
		}
		for _, d := range wrong {
			if d.Path == "" || d.Problem == "" || d.Group != shape().ID {
				t.Errorf("incomplete: %+v", d)
			}
		}
	})
}

func FuzzCheckFile(f *testing.F) {
	files, err := filepath.Glob("testdata/check/*[nl]")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		managed, wrong := jobs.CheckFile("fuzz", src)
		for _, m := range managed {
			checkPolicy(t, m.Policy, []string{m.Policy.Port}, m.Max)
		}
		for _, d := range wrong {
			if d.Problem == "" || d.Pos == "" {
				t.Errorf("incomplete: %+v", d)
			}
		}
	})
}
