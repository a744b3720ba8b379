package jobs_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"doze/healthgate"
)

func TestParsePolicy_probeOfEachKind_isRead(t *testing.T) {
	for block, want := range map[string]healthgate.ProbeConfig{
		`[{"probe": [{"tcp": [{}]}]}]`: {Kind: "tcp"},
		`[{"probe": [{"tcp": [{"interval": "2s"}]}]}]`: {
			Kind: "tcp", Interval: 2 * time.Second},
		`[{"probe": [{"grpc": [{"service": "shop", "tls": true, "fall": 5}]}]}]`: {
			Kind: "grpc", Service: "shop", TLS: true, Fall: 5},
		`[{"probe": {"http": {"path": "/x"}}}]`: {Kind: "http", Path: "/x"},
	} {
		got, wrong := parse(t, block, shape())
		if len(wrong) > 0 || !reflect.DeepEqual(*got.Probe, want) {
			t.Errorf("%s: got %+v, %v", block, *got.Probe, wrong)
		}
	}
}

func TestParsePolicy_badProbe_isTold(t *testing.T) {
	http := func(keys string) string { return `[{"probe": [{"http": [{` + keys + `}]}]}]` }
	testFaults(t, doze+" > probe", []fault{
		{"two", `[{"probe": [{"http": [{}]}, {"tcp": [{}]}]}]`, `: there are 2 probes; keep one`},
		{"two of a kind", `[{"probe": [{"http": [{}, {}]}]}]`,
			` > http: there are 2 of these blocks; keep one`},
		{"unknown kind", `[{"probe": [{"htp": [{}]}]}]`,
			` > htp: there is no probe "htp"; did you mean http?`},
		{"exec", `[{"probe": [{"exec": [{"command": ["sh"]}]}]}]`,
			` > exec: would run a command of the job on Doze's own machine; ` +
				`exec probes are for the doze task driver; use http, tcp or grpc here`},
		{"no label", `[{"probe": [{"path": "/"}]}]`,
			`: has no label; write probe "http" { path = … }`},
		{"no label, no keys", `[{"probe": [{}]}]`,
			`: has no label; write probe "http" {}, probe "tcp" {} or probe "grpc" {}`},
		{"text", `[{"probe": "http"}]`, `: must be a block with a label, not text; ` +
			`write probe "http" { path = "/healthz" }`},
		{"body is text", `[{"probe": [{"http": "/"}]}]`, ` > http: must be a block, not text`},
		{"key of another kind", `[{"probe": [{"tcp": [{"path": "/"}]}]}]`,
			` > tcp > path: unknown key; it belongs to probe "http"`},
		{"misspelt", http(`"pth": "/"`), ` > http > pth: unknown key; did you mean path?`},
		{"empty path", http(`"path": ""`),
			` > http > path: is empty; name it or leave the key out`},
		{"status as number", http(`"statuses": 200`),
			` > http > statuses: must be text, not a number`},
		{"tls", http(`"tls": "yes"`), ` > http > tls: must be true or false, not text`},
		{"header type", http(`"headers": [{"a": 1}]`),
			` > http > headers > a: must be text, not a number`},
		{"timeout", http(`"timeout": "0s"`), ` > http > timeout: 0s is too short; at least 1ms`},
		{"rise", http(`"rise": 0`), ` > http > rise: 0 is too small; at least 1`},
	})
}

// What is wrong inside a value is healthgate's to say; it is told at its key.
func TestParsePolicy_probeThatHealthgateRefuses_isToldAtTheKey(t *testing.T) {
	for keys, want := range map[string]string{
		`"statuses": "200,2xx"`: "statuses", `"statuses": "399-300"`: "statuses",
		`"statuses": "99"`: "statuses", `"path": "x"`: "path", `"method": "GE T"`: "method",
		`"body": "("`: "body", `"host": "a/b"`: "host", `"headers": [{"a b": "c"}]`: "headers",
		`"headers": [{"a": "b\nc"}]`: "headers", `"headers": [{"Host": "c"}]`: "headers",
	} {
		_, wrong := parse(t, `[{"probe": [{"http": [{`+keys+`}]}]}]`, shape())
		if len(wrong) != 1 || wrong[0].Path != doze+" > probe > http > "+want {
			t.Errorf("%s: got %v", keys, wrong)
		}
	}
}

// What this half lets through is a probe that healthgate can run.
func TestParsePolicy_probe_isValidForHealthgate(t *testing.T) {
	got, wrong := parse(t, strings.ReplaceAll(whole, "\n", " "), shape())
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if err := got.Probe.Validate(); err != nil {
		t.Error(err)
	}
}
