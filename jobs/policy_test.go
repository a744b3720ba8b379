package jobs_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"doze/healthgate"
	"doze/idle"
	"doze/jobs"
)

func shape() jobs.GroupShape {
	return jobs.GroupShape{
		ID:    idle.GroupID{Namespace: "default", Job: "shop", Group: "web"},
		Max:   3,
		Ports: []string{"http"},
	}
}

// parse reads a doze block given as JSON, as Nomad's API hands it out.
func parse(t *testing.T, block string, g jobs.GroupShape) (jobs.Policy, jobs.Diagnostics) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(block), &v); err != nil {
		t.Fatalf("%v in %s", err, block)
	}
	return jobs.ParsePolicy(v, g)
}

func TestParsePolicy_emptyBlock_hasTheDefaults(t *testing.T) {
	got, wrong := parse(t, `[{}]`, shape())
	want := jobs.Policy{
		IdleAfter: 15 * time.Minute, WakeTimeout: time.Minute, Port: "http",
		Waiting: "auto", OnTimeout: "closed", MaxHeld: 1024,
		Probe: &healthgate.ProbeConfig{Kind: "tcp"},
	}
	if len(wrong) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v\n%v", got, want, wrong)
	}
}

// whole is every key but the probe's of other kinds, and wholePolicy what it means.
const whole = `[{
	"idle_after": "5m", "min_awake": "30s", "wake_timeout": "90s", "wake_count": 2,
	"drain_delay": "1s", "port": "http", "waiting": "page", "on_timeout": "open",
	"max_held": 10,
	"route": [{"hosts": ["Web.Example.com.", "*.preview.example.com"], "path_prefix": "/a/"},
	          {"hosts": ["bücher.example"]}],
	"probe": [{"http": [{"path": "/healthz?x=1", "method": "HEAD", "host": "h", "tls": true,
		"headers": [{"x-a": "b", "X-C": ["d", "e"]}], "statuses": "200,204,300-399",
		"body": "^ok", "interval": "2s", "timeout": "3s", "initial_delay": "1s",
		"rise": 2, "fall": 4}]}],
	"ignore": [{"paths": ["/healthz", "/admin/*"], "user_agents": ["UptimeRobot"]}]
}]`

func wholePolicy() jobs.Policy {
	return jobs.Policy{
		IdleAfter: 5 * time.Minute, MinAwake: 30 * time.Second, WakeTimeout: 90 * time.Second,
		DrainDelay: time.Second, WakeCount: 2, Port: "http", Waiting: "page",
		OnTimeout: "open", MaxHeld: 10,
		Routes: []jobs.Route{
			{Hosts: []string{"web.example.com", "*.preview.example.com"}, PathPrefix: "/a"},
			{Hosts: []string{"xn--bcher-kva.example"}, PathPrefix: "/"},
		},
		Probe: &healthgate.ProbeConfig{
			Kind: "http", Path: "/healthz?x=1", Method: "HEAD", Host: "h", TLS: true,
			Header:   http.Header{"X-A": {"b"}, "X-C": {"d", "e"}},
			Statuses: "200,204,300-399", Body: "^ok", Interval: 2 * time.Second,
			Timeout: 3 * time.Second, InitialDelay: time.Second, Rise: 2, Fall: 4,
		},
		Ignore: jobs.Ignore{
			Paths:      []string{"/healthz", "/admin/*"},
			UserAgents: []string{"UptimeRobot"},
		},
	}
}

func TestParsePolicy_everyKey_isRead(t *testing.T) {
	got, wrong := parse(t, whole, shape())
	if want := wholePolicy(); len(wrong) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v\n%v", got, want, wrong)
	}
}

// A JSON job may write blocks as plain maps.
func TestParsePolicy_plainMaps_meanTheSame(t *testing.T) {
	var block []map[string]any
	if err := json.Unmarshal([]byte(whole), &block); err != nil {
		t.Fatal(err)
	}
	plain := block[0]
	for _, name := range []string{"probe", "ignore"} {
		plain[name] = plain[name].([]any)[0]
	}
	probe := plain["probe"].(map[string]any)
	http := probe["http"].([]any)[0].(map[string]any)
	http["headers"] = http["headers"].([]any)[0]
	probe["http"] = http
	got, wrong := jobs.ParsePolicy(plain, shape())
	if want := wholePolicy(); len(wrong) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v\n%v", got, want, wrong)
	}
}

func TestParsePolicy_numbersOfAnyGoType_areRead(t *testing.T) {
	for _, n := range []any{2, int64(2), uint8(2), float32(2), 2.0, json.Number("2")} {
		got, wrong := jobs.ParsePolicy(map[string]any{"wake_count": n}, shape())
		if got.WakeCount != 2 || len(wrong) > 0 {
			t.Errorf("%T: got %d, %v", n, got.WakeCount, wrong)
		}
	}
}

// The Go types that a program registers a job with, before any JSON.
func TestParsePolicy_typedGoLists_areRead(t *testing.T) {
	got, wrong := jobs.ParsePolicy([]map[string]any{{
		"route": []map[string]any{{"hosts": []string{"a.example.com"}}},
	}}, shape())
	if len(wrong) > 0 || len(got.Routes) != 1 || len(got.Routes[0].Hosts) != 1 {
		t.Errorf("got %+v, %v", got.Routes, wrong)
	}
}

// fault is one block with one mistake in it, and the line that tells of it.
type fault struct{ name, block, want string }

func testFaults(t *testing.T, head string, faults []fault) {
	t.Helper()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			_, wrong := parse(t, f.block, shape())
			if len(wrong) != 1 {
				t.Fatalf("want one diagnostic, got:\n%v", wrong)
			}
			if got := wrong[0].String(); got != head+f.want {
				t.Errorf("got\n%s\nwant\n%s", got, head+f.want)
			}
		})
	}
}

const doze = `group "web" > scaling > policy > doze`

func TestParsePolicy_oneMistake_isToldWithPathAndHint(t *testing.T) {
	testFaults(t, doze, []fault{
		{"unknown key", `[{"idle_afer": "5m"}]`,
			` > idle_afer: unknown key; did you mean idle_after?`},
		{"dynamic block", `[{"dynamic": [{"route": [{}]}]}]`, ` > dynamic: unknown key; ` +
			`Nomad does not expand dynamic blocks inside scaling.policy; write them out`},
		{"number as duration", `[{"idle_after": 90}]`,
			` > idle_after: must be a duration as text, not a number; write "90s"`},
		{"duration without unit", `[{"idle_after": "90"}]`,
			` > idle_after: "90" is not a duration; a unit is missing, as in "90s"`},
		{"duration in days", `[{"idle_after": "2d"}]`,
			` > idle_after: "2d" is not a duration; there is no unit d; write "48h"`},
		{"no duration", `[{"idle_after": "soon"}]`,
			` > idle_after: "soon" is not a duration; write it as "30s", "5m" or "1h30m"`},
		{"negative duration", `[{"min_awake": "-1s"}]`, ` > min_awake: -1s is negative`},
		{"short duration", `[{"wake_timeout": "1ms"}]`,
			` > wake_timeout: 1ms is too short; at least 100ms`},
		{"endless duration", `[{"idle_after": "99999h"}]`,
			` > idle_after: 99999h is too long; at most 8784h0m0s`},
		{"list as duration", `[{"idle_after": ["5m"]}]`,
			` > idle_after: must be text, not a list`},
		{"text as number", `[{"max_held": "10"}]`,
			` > max_held: must be a whole number, not text; leave the quotes out`},
		{"fraction", `[{"max_held": 1.5}]`, ` > max_held: must be a whole number, not 1.5`},
		{"zero", `[{"max_held": 0}]`, ` > max_held: 0 is too small; at least 1`},
		{"huge", `[{"max_held": 1e300}]`,
			` > max_held: 1e+300 is too large; at most 1048576`},
		{"bool as number", `[{"max_held": true}]`,
			` > max_held: must be a whole number, not true or false`},
		{"unknown choice", `[{"waiting": "paeg"}]`,
			` > waiting: "paeg" is not possible here; did you mean page?`},
		{"far choice", `[{"on_timeout": "whatever"}]`,
			` > on_timeout: "whatever" is not possible here; known here: closed, open`},
		{"runtime value", `[{"port": "${NOMAD_X}"}]`, ` > port: "${NOMAD_X}" is not ` +
			`filled in; inside scaling.policy only var, local and functions work`},
		{"empty port", `[{"port": ""}]`, ` > port: is empty; name it or leave the key out`},
		{"unknown port", `[{"port": "htpp"}]`,
			` > port: the group has no port "htpp"; did you mean http?`},
		{"two doze blocks", `[{}, {}]`, `: there are 2 of these blocks; keep one`},
		{"no block", `"5m"`, `: must be a block, not text`},
		{"null in a list", `[null]`, `: must be a block, not null`},
		{"wake_count above max", `[{"wake_count": 4}]`,
			` > wake_count: 4 is more than scaling.max, which is 3; lower it or raise max`},
		{"wake_count 0", `[{"wake_count": 0}]`,
			` > wake_count: 0 is too small; at least 1`},
	})
}

func TestParsePolicy_manyMistakes_areToldTogether(t *testing.T) {
	g := shape()
	g.JobType, g.Min, g.Max, g.Ports = "batch", 1, 0, nil
	_, wrong := parse(t, `[{"idle_afer": "5m", "waiting": 1, "max_held": "x",
		"route": [{"host": ["a"]}], "probe": [{"htp": [{}]}], "ignore": [{"path": 1}]}]`, g)
	text := wrong.Error()
	for _, want := range []string{"idle_afer", "waiting", "max_held", "hosts: no host",
		"> host: unknown", "htp", "ignore > path:", "type", "> min", "> max", "network"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing about %q", want)
		}
	}
	if len(wrong) != 11 {
		t.Errorf("want 11 diagnostics, got %d", len(wrong))
	}
	if t.Failed() {
		t.Log("\n" + text)
	}
}

func TestParsePolicy_diagnostics_nameTheGroup(t *testing.T) {
	_, wrong := parse(t, `[{"x": 1, "probe": [{"tcp": [{"y": 1}]}]}]`, shape())
	for _, d := range wrong {
		if d.Group != shape().ID {
			t.Errorf("%v names %v", d, d.Group)
		}
	}
	if len(wrong) != 2 {
		t.Errorf("got %v", wrong)
	}
}

// field case 13: the count of a wake lies within what Nomad will take.
func TestClamp_anyCount_liesWithinOneAndMax(t *testing.T) {
	for _, c := range []struct{ count, most, want int }{
		{0, 3, 1}, {-5, 3, 1}, {2, 3, 2}, {3, 3, 3}, {9, 3, 3}, {9, 0, 1}, {0, 0, 1},
	} {
		if got := jobs.Clamp(c.count, c.most); got != c.want {
			t.Errorf("Clamp(%d, %d) = %d, want %d", c.count, c.most, got, c.want)
		}
	}
}

// Whatever stands where something else belongs is told, and nothing panics.
func TestParsePolicy_wrongShapeAtAnyKey_isTold(t *testing.T) {
	scalars := []any{true, 1.5, -1, "", "${x}", "??"}
	nested := []any{
		map[string]any{"??": 1}, []any{[]any{}}, []any{map[string]any{"??": nil}}, []any{1},
	}
	wrong := map[string][]any{
		"route": scalars, "probe": scalars, "ignore": scalars,
		"idle_after": nested, "min_awake": nested, "wake_timeout": nested,
		"wake_count": nested, "drain_delay": nested, "port": nested, "waiting": nested,
		"on_timeout": nested, "max_held": nested,
	}
	for key := range wrong {
		for _, v := range append(wrong[key], nested...) {
			_, ds := jobs.ParsePolicy([]any{map[string]any{key: v}}, shape())
			if len(ds) == 0 || !strings.HasPrefix(ds[0].Path, doze+" > "+key) {
				t.Errorf("%s = %v: got %v", key, v, ds)
			}
		}
	}
}
