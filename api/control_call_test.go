package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"doze/api"
	"doze/api/wire"
	"doze/idle"
)

// wrongRequest is a mistake that somebody makes, and what the answer must say.
type wrongRequest struct {
	method, path, body string
	headers            []string
	status             int
	kind               string
	parameter          string
	says               string // what is wrong, and where
	hint               string // what to do
}

var (
	webPath       = webID.Path()
	wrongRequests = map[string]wrongRequest{
		"unknown path": {"GET", "/v1/group", "", nil, 404, wire.ProblemUnknownPath, "",
			`nothing is served at "/v1/group"`, "/v1/openapi.json lists every path"},
		"unencoded job": {"GET", "/v1/groups/default/team/web/app", "", nil, 404, wire.ProblemUnknownPath, "",
			"nothing is served", "a slash within one is %2F"},
		"dots in path": {"GET", "/v1/../v1/groups", "", nil, 404, wire.ProblemUnknownPath, "", "nothing is served", ""},
		"slashes":      {"GET", "//v1/groups", "", nil, 404, wire.ProblemUnknownPath, "", "nothing is served", ""},
		"trailing":     {"GET", "/v1/groups/", "", nil, 404, wire.ProblemUnknownPath, "", "nothing is served", ""},
		"unknown group": {"GET", "/v1/groups/default/web/none", "", nil, 404, wire.ProblemUnknownGroup, "",
			`no group "none" of job "web" in namespace "default" is managed`, "GET /v1/groups lists the managed groups"},
		"unknown group, wake": {"POST", "/v1/groups/default/none/app/wake", "", nil, 404, wire.ProblemUnknownGroup, "",
			`no group "app" of job "none"`, "GET /v1/diagnostics says why"},
		"unknown group, lease": {"PUT", "/v1/groups/prod/web/app/lease/x", "", nil, 404, wire.ProblemUnknownGroup, "",
			`in namespace "prod"`, "GET /v1/groups"},
		"method": {"POST", "/v1/groups", "", nil, 405, wire.ProblemMethod, "", "POST is not possible here", "use GET, HEAD"},
		"method, group": {"DELETE", webPath, "", nil, 405, wire.ProblemMethod, "",
			"DELETE is not possible here", "use GET, HEAD"},
		"method, wake":  {"GET", webPath + "/wake", "", nil, 405, wire.ProblemMethod, "", "GET is not possible", "use POST"},
		"method, lease": {"POST", webPath + "/lease/x", "", nil, 405, wire.ProblemMethod, "", "POST is not", "use PUT, DELETE"},
		"method, page":  {"POST", "/ui/", "", nil, 405, wire.ProblemMethod, "", "POST is not possible", "use GET, HEAD"},
		"unknown parameter": {"GET", "/v1/groups?names=prod", "", nil, 400, wire.ProblemUnknownParameter, "names",
			`there is no query parameter "names" here`, "this path knows: namespace, state"},
		"unknown parameter, group": {"GET", webPath + "?state=ready", "", nil, 400, wire.ProblemUnknownParameter, "state",
			`there is no query parameter "state" here`, "this path takes no query parameters"},
		"unknown state": {"GET", "/v1/groups?state=running", "", nil, 400, wire.ProblemParameter, "state",
			`"running" is not a state`, "use one of: asleep, waking, ready, draining, sleeping, failed"},
		"unknown state, events": {"GET", "/v1/events?state=up", "", nil, 400, wire.ProblemParameter, "state",
			`"up" is not a state`, "use one of"},
		"twice": {"GET", "/v1/groups?namespace=a&namespace=b", "", nil, 400, wire.ProblemParameter, "namespace",
			"namespace is given 2 times", "give it once"},
		"bad escape": {"GET", "/v1/groups?namespace=%zz", "", nil, 400, wire.ProblemParameter, "",
			"cannot be read", "percent-encode"},
		"semicolon": {"GET", "/v1/groups?namespace=a;state=b", "", nil, 400, wire.ProblemParameter, "",
			"cannot be read", "separate parameters by &"},
		"wait without unit": {"POST", webPath + "/wake?wait=30", "", nil, 400, wire.ProblemParameter, "wait",
			`"30" is not a duration`, "e.g. 30s; units are ms, s, m and h"},
		"wait empty": {"POST", webPath + "/wake?wait", "", nil, 400, wire.ProblemParameter, "wait",
			`"" is not a duration`, "e.g. 30s"},
		"wait negative": {"POST", webPath + "/wake?wait=-1s", "", nil, 400, wire.ProblemParameter, "wait",
			"-1s is not above zero", "30s"},
		"wait too long": {"POST", webPath + "/wake?wait=1h", "", nil, 400, wire.ProblemParameter, "wait",
			"1h is longer than 10m0s", "ask for 10m0s at the most"},
		"wait for a flag": {"POST", webPath + "/wake?force=true", "", nil, 400, wire.ProblemUnknownParameter, "force",
			`no query parameter "force"`, "this path knows: wait"},
		"force": {"POST", webPath + "/sleep?force=yes", "", nil, 400, wire.ProblemParameter, "force",
			`"yes" is neither true nor false`, "force=true"},
		"lease for ever": {"PUT", webPath + "/lease/x?for=9999h", "", nil, 400, wire.ProblemParameter, "for",
			"9999h is longer than 720h0m0s", "720h0m0s"},
		"lease name": {"PUT", webPath + "/lease/a%2Fb", "", nil, 400, wire.ProblemParameter, "name",
			`"a/b" cannot be the name of a lease`, "1 to 64 letters"},
		"lease name, dropped": {"DELETE", webPath + "/lease/%0A", "", nil, 400, wire.ProblemParameter, "name",
			"cannot be the name", "letters"},
		"lease with body": {"PUT", webPath + "/lease/x", `{"for":"2h"}`, nil, 400, wire.ProblemBody, "",
			"takes no body", "the path and the query"},
		"not JSON": {"POST", webPath + "/wake", "reason=deploy", nil, 400, wire.ProblemBody, "",
			"not a command in JSON: invalid character 'r'", `send {"reason": "deploy check"}`},
		"half JSON":    {"POST", webPath + "/wake", `{"reason":`, nil, 400, wire.ProblemBody, "", "unexpected EOF", "no body at all"},
		"two JSONs":    {"POST", webPath + "/wake", `{}{}`, nil, 400, wire.ProblemBody, "", "something after", ""},
		"wrong JSON":   {"POST", webPath + "/sleep", `["x"]`, nil, 400, wire.ProblemBody, "", "array", "reason"},
		"unknown key":  {"POST", webPath + "/wake", `{"wait":"3s"}`, nil, 400, wire.ProblemBody, "", `unknown field "wait"`, ""},
		"wrong type":   {"POST", webPath + "/wake", `{"reason":7}`, nil, 400, wire.ProblemBody, "", "number", ""},
		"line break":   {"POST", webPath + "/wake", `{"reason":"a\nb"}`, nil, 400, wire.ProblemBody, "reason", "line break", "one short line"},
		"long reason":  {"POST", webPath + "/wake", `{"reason":"` + strings.Repeat("x", 201) + `"}`, nil, 400, wire.ProblemBody, "reason", "201 bytes", "one short line"},
		"large body":   {"POST", webPath + "/wake", strings.Repeat(" ", 16<<10+1), nil, 413, wire.ProblemBodyTooLarge, "", "more than 16384 bytes", "as short as"},
		"media type":   {"POST", webPath + "/wake", "{}", []string{"Content-Type", "text/plain"}, 415, wire.ProblemMediaType, "", `its Content-Type is "text/plain"`, "application/json"},
		"form":         {"POST", webPath + "/wake", "reason=x", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, wire.ProblemMediaType, "", "x-www-form-urlencoded", "application/json"},
		"no type":      {"POST", webPath + "/wake", "{}", []string{"Content-Type", ""}, 415, wire.ProblemMediaType, "", `its Content-Type is ""`, "application/json"},
		"host":         {"GET", "/v1/groups", "", []string{"Host", "evil.example.com"}, 421, wire.ProblemUnknownHost, "", `the host "evil.example.com"`, "allowed hosts"},
		"host like":    {"GET", "/v1/groups", "", []string{"Host", "localhost.evil.example"}, 421, wire.ProblemUnknownHost, "", "localhost.evil.example", "by IP address"},
		"cross-site":   {"POST", webPath + "/wake", "", []string{"Sec-Fetch-Site", "cross-site"}, 403, wire.ProblemCrossOrigin, "", "cross-origin", "programs"},
		"origin":       {"POST", webPath + "/sleep", "", []string{"Origin", "https://evil.example"}, 403, wire.ProblemCrossOrigin, "", "cross-origin", ""},
		"origin, put":  {"PUT", webPath + "/lease/x", "", []string{"Origin", "null"}, 403, wire.ProblemCrossOrigin, "", "cross-origin", ""},
		"no slash, ui": {"GET", "/ui/../v1/groups", "", nil, 404, wire.ProblemUnknownPath, "", "nothing is served", ""},
	}
)

func TestControl_wrongRequests_sayWhatWhereAndWhatToDo(t *testing.T) {
	inControlWorld(t, func(cfg *api.ControlConfig) { cfg.AllowedHosts = []string{"Doze.example.com:4660"} },
		func(t *testing.T, w *controlWorld) {
			f := w.add(webID, quickPolicy)
			for name, c := range wrongRequests {
				a := w.do(c.method, c.path, c.body, c.headers...)
				if a.status != c.status || a.header.Get("Content-Type") != "application/problem+json" {
					t.Errorf("%s: answered %d %s", name, a.status, a.text)
					continue
				}
				checkProblem(t, name, c, into[wire.Problem](t, a, c.status))
				if allow := a.header.Get("Allow"); (allow != "") != (c.status == 405) {
					t.Errorf("%s: Allow %q", name, allow)
				}
			}
			synctest.Wait()
			if wakes, _ := f.calls(); wakes != 0 || len(w.group(webID).Leases) != 0 {
				t.Errorf("something wrong was carried out: %d wakes, %+v", wakes, w.group(webID).Group)
			}
			into[wire.GroupList](t, w.do("GET", "/v1/groups", "", "Host", "doze.example.com"), 200)
		})
}

func checkProblem(t *testing.T, name string, c wrongRequest, p wire.Problem) {
	t.Helper()
	hints := strings.Join(p.Hints, "; ")
	if p.Type != c.kind || p.Parameter != c.parameter || p.Title == "" ||
		!strings.Contains(p.Detail, c.says) || !strings.Contains(hints, c.hint) {
		t.Errorf("%s: %+v", name, p)
	}
}

func TestControl_writesFromProgramsAndOwnPage_pass(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		for _, headers := range [][]string{
			nil, {"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://localhost:4660"}, {"Sec-Fetch-Site", "none"},
		} {
			into[wire.Outcome](t, w.do("POST", webID.WakePath(), "", headers...), 202)
		}
		for _, host := range []string{"127.0.0.1:4660", "[::1]", "10.0.0.7", "doze.localhost", "LOCALHOST.:80"} {
			into[wire.GroupList](t, w.do("GET", "/v1/groups", "", "Host", host), 200)
		}
	})
}

func TestControl_head_answersLikeGetWithoutBody(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		a := w.do("HEAD", "/v1/groups", "")
		if a.status != 200 || a.text != "" || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("answered %d %q %v", a.status, a.text, a.header)
		}
		if a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers %v", a.header)
		}
	})
}

func TestControl_chunkedBody_isReadLikeAnyOther(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		for _, c := range []struct {
			path, body string
			status     int
		}{
			{webID.WakePath(), `{"reason":"x"}`, 202}, {webID.WakePath(), "", 202},
			{webID.WakePath(), strings.Repeat("x", 1<<20), 413},
			{webID.LeasePath("x"), "", 200}, {webID.LeasePath("x"), "{}", 400},
		} {
			method := map[bool]string{true: "PUT", false: "POST"}[strings.Contains(c.path, "/lease/")]
			body := struct{ *strings.Reader }{strings.NewReader(c.body)} // hides the length
			r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+c.path, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			if a := w.send(r); a.status != c.status {
				t.Errorf("%s %d bytes: %d %s", c.path, len(c.body), a.status, a.text)
			}
		}
	})
}

func TestControl_bodyNeverComes_isGivenUp(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		never, end := io.Pipe()
		defer end.Close()
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost"+webID.WakePath(), never)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		begun := time.Now()
		res, err := w.client.Do(r)
		if err == nil {
			res.Body.Close()
			if res.StatusCode != 400 {
				t.Errorf("answered %d", res.StatusCode)
			}
		}
		if took := time.Since(begun); took > 11*time.Second {
			t.Errorf("waited for %s", took)
		}
	})
}

// FuzzControl_anyRequest_isNeverOurFault sends any method, path, query and body.
func FuzzControl_anyRequest_isNeverOurFault(f *testing.F) {
	for _, c := range wrongRequests {
		path, query, _ := strings.Cut(c.path, "?")
		f.Add(c.method, path, query, c.body)
	}
	f.Add("POST", webPath+"/wake", "wait=1s", "")
	f.Add("GET", "/v1/groups/%2f/%00/%ff", "", "")
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		target := &url.URL{RawPath: path, RawQuery: query}
		var err error
		if target.Path, err = url.PathUnescape(path); err != nil {
			target.Path, target.RawPath = path, ""
		}
		synctest.Test(t, func(t *testing.T) { answerOne(t, method, target, body) })
	})
}

// answerOne gives the handler one request, without a server between that would refuse it.
func answerOne(t *testing.T, method string, target *url.URL, body string) {
	journal := api.NewJournal(10)
	loop := idle.NewLoop(idle.Config{OnTransition: journal.Record})
	w := &controlWorld{t: t, loop: loop, groups: map[idle.GroupID]*fakeGroup{}}
	w.add(webID, quickPolicy)
	handler, err := api.NewControl(api.ControlConfig{Loop: loop, Journal: journal, Auth: api.Open{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), 20*time.Minute)
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx) }()
	r := &http.Request{Method: method, URL: target, Host: "localhost", Header: http.Header{},
		Body: http.NoBody, ContentLength: int64(len(body))}
	if body != "" {
		r.Body = io.NopCloser(strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	answer := httptest.NewRecorder()
	limited, cancel := context.WithTimeout(t.Context(), 15*time.Minute) // event streams have no end
	handler.ServeHTTP(answer, r.WithContext(limited))
	if answer.Code >= 500 && answer.Code != 504 {
		t.Errorf("%s %s: %d %s", method, target, answer.Code, answer.Body)
	}
	cancel()
	end()
	<-done
}
