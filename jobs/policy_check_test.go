package jobs_test

import (
	"testing"

	"doze/jobs"
)

// Each job is right but for one thing around or across the block.
func TestParsePolicy_contradiction_isTold(t *testing.T) {
	for _, c := range []struct {
		name, block string
		change      func(*jobs.GroupShape)
		want        string
	}{
		{"min", `[{}]`, func(g *jobs.GroupShape) { g.Min = 1 },
			`group "web" > scaling > min: is 1, so the group cannot sleep; ` +
				`write min = 0 (left out, it is the group's count)`},
		{"max", `[{"wake_count": 2}]`, func(g *jobs.GroupShape) { g.Max = 0 },
			`group "web" > scaling > max: is 0, so the group cannot wake; write max = 1 or more`},
		{"batch", `[{}]`, func(g *jobs.GroupShape) { g.JobType = "batch" },
			`job > type: "batch" jobs cannot sleep; ` +
				`Nomad garbage-collects them at count 0; use a service job`},
		{"sysbatch", `[{}]`, func(g *jobs.GroupShape) { g.JobType = "sysbatch" },
			`job > type: "sysbatch" jobs cannot sleep; ` +
				`Nomad garbage-collects them at count 0; use a service job`},
		{"system", `[{}]`, func(g *jobs.GroupShape) { g.JobType = "system" },
			`job > type: "system" jobs cannot sleep; use a service job`},
		{"periodic", `[{}]`, func(g *jobs.GroupShape) { g.Periodic = true },
			`job > periodic: a periodic job cannot sleep; use a service job`},
		{"parameterized", `[{}]`, func(g *jobs.GroupShape) { g.Parameterized = true },
			`job > parameterized: a parameterized job cannot sleep; use a service job`},
		{"no port", `[{}]`, func(g *jobs.GroupShape) { g.Ports = nil },
			`group "web" > network: the group has no port, so no request can reach it; ` +
				`add network { port "http" {} }`},
		{"several ports", `[{}]`, func(g *jobs.GroupShape) { g.Ports = []string{"a", "b"} },
			doze + ` > port: the group has several ports (a, b) and none is named; ` +
				`write port = "a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := shape()
			c.change(&g)
			_, wrong := parse(t, c.block, g)
			if got := wrong.Error(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestParsePolicy_oneOfSeveralPorts_isTaken(t *testing.T) {
	g := shape()
	g.Ports = []string{"metrics", "http"}
	got, wrong := parse(t, `[{"port": "http"}]`, g)
	if got.Port != "http" || len(wrong) > 0 {
		t.Errorf("got %q, %v", got.Port, wrong)
	}
}

// field case 25: there is one deadline, and nothing that could quietly win over it.
func TestParsePolicy_secondDeadline_isTold(t *testing.T) {
	testFaults(t, doze, []fault{
		{"drain_delay", `[{"wake_timeout": "10s", "drain_delay": "10s"}]`,
			` > drain_delay: 10s is not shorter than wake_timeout (10s); ` +
				`a request that comes meanwhile has wake_timeout in all; shorten it`},
		{"initial_delay",
			`[{"wake_timeout": "10s", "probe": [{"tcp": [{"initial_delay": "10s"}]}]}]`,
			` > probe > tcp > initial_delay: 10s is not shorter than wake_timeout (10s), ` +
				`so no wake could succeed; shorten it or raise wake_timeout`},
		{"probe timeout", `[{"wake_timeout": "10s", "probe": [{"tcp": [{"timeout": "11s"}]}]}]`,
			` > probe > tcp > timeout: 11s is longer than wake_timeout (10s); ` +
				`shorten it or raise wake_timeout`},
		{"against the default", `[{"drain_delay": "61s"}]`,
			` > drain_delay: 1m1s is not shorter than wake_timeout (1m0s); ` +
				`a request that comes meanwhile has wake_timeout in all; shorten it`},
	})
}
