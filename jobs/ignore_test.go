package jobs_test

import (
	"reflect"
	"testing"

	"doze/jobs"
)

// field case 7, field case 8: monitors and scanners are named by path and user agent.
func TestParsePolicy_ignore_isRead(t *testing.T) {
	got, wrong := parse(t, `[{"ignore": [{"paths": ["/healthz", "/wp-*", "/favicon.ico"],
		"user_agents": ["UptimeRobot", "bot"]}]}]`, shape())
	want := jobs.Ignore{
		Paths:      []string{"/healthz", "/wp-*", "/favicon.ico"},
		UserAgents: []string{"UptimeRobot", "bot"},
	}
	if len(wrong) > 0 || !reflect.DeepEqual(got.Ignore, want) {
		t.Errorf("got %+v, %v", got.Ignore, wrong)
	}
}

// field case 7, field case 8: what would ignore everything, or nothing, is a mistake.
func TestParsePolicy_badIgnore_isTold(t *testing.T) {
	testFaults(t, doze+" > ignore > ", []fault{
		{"everything", `[{"ignore": [{"paths": ["/*"]}]}]`, `paths[0]: "/*" ignores every ` +
			`request, so none could wake the group; name the monitor's path`},
		{"star", `[{"ignore": [{"paths": ["*"]}]}]`, `paths[0]: "*" ignores every ` +
			`request, so none could wake the group; name the monitor's path`},
		{"empty path", `[{"ignore": [{"paths": [""]}]}]`, `paths[0]: "" ignores every ` +
			`request, so none could wake the group; name the monitor's path`},
		{"relative", `[{"ignore": [{"paths": ["healthz"]}]}]`,
			`paths[0]: "healthz" does not start with a slash; write "/healthz"`},
		{"inner wildcard", `[{"ignore": [{"paths": ["/a*/b"]}]}]`,
			`paths[0]: "/a*/b" has a wildcard that is not at its end`},
		{"query", `[{"ignore": [{"paths": ["/a?b"]}]}]`,
			`paths[0]: "/a?b" has a query or fragment; only the path is compared`},
		{"empty agent", `[{"ignore": [{"user_agents": [" "]}]}]`,
			`user_agents[0]: an empty user agent ignores every request; name the monitor`},
		{"unknown key", `[{"ignore": [{"agents": ["x"]}]}]`,
			`agents: unknown key; known here: paths, user_agents`},
	})
	testFaults(t, doze+" > ", []fault{
		{"two blocks", `[{"ignore": [{}, {}]}]`,
			`ignore: there are 2 of these blocks; keep one`},
	})
}
