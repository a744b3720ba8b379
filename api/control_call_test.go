package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"doze/api"
	"doze/api/wire"
)

func TestControl_writesFromProgramsAndOwnPage_pass(t *testing.T) {
	configure := func(cfg *api.ControlConfig) { cfg.AllowedHosts = []string{"Doze.example.com:80"} }
	inControlWorld(t, configure, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		for _, headers := range [][]string{
			nil, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"},
			{"Origin", "http://localhost:4660"},
		} {
			into[wire.Outcome](t, w.do("POST", webID.WakePath(), "", headers...), 202)
		}
		for _, host := range []string{"127.0.0.1:4660", "[::1]", "10.0.0.7", "doze.localhost",
			"LOCALHOST.:80", "doze.example.com"} {
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
		if a.header.Get("Cache-Control") != "no-store" ||
			a.header.Get("X-Content-Type-Options") != "nosniff" {
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
			method := "POST"
			if strings.Contains(c.path, "/lease/") {
				method = "PUT"
			}
			body := struct{ *strings.Reader }{strings.NewReader(c.body)} // hides the length
			url := "http://localhost" + c.path
			r, err := http.NewRequestWithContext(t.Context(), method, url, body)
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
		url := "http://localhost" + webID.WakePath()
		r, err := http.NewRequestWithContext(t.Context(), "POST", url, never)
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
