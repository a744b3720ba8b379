package api_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"doze/api"
	"doze/api/wire"
	"doze/idle"
)

const mistakesFile = "testdata/mistakes.txt"

// mistake is one request of the file: a line of method, path and body, lines of headers that
// begin with >, and lines of the answer that begin with <.
type mistake struct {
	method, path, body string
	headers            []string
	request            string // as in the file
	answer             string // as in the file
}

func readMistakes(t testing.TB) (head string, mistakes []mistake) {
	t.Helper()
	text, err := os.ReadFile(mistakesFile)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "\n\n")
	for block := range strings.SplitSeq(strings.TrimSpace(rest), "\n\n") {
		mistakes = append(mistakes, parseMistake(block))
	}
	return head, mistakes
}

func parseMistake(block string) (m mistake) {
	for line := range strings.Lines(strings.TrimSuffix(block, "\n") + "\n") {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "<"):
			m.answer += line + "\n"
			continue
		case strings.HasPrefix(line, "> "):
			name, value, _ := strings.Cut(line[2:], ": ")
			m.headers = append(m.headers, name, value)
		default:
			m.method, line, _ = strings.Cut(line, " ")
			m.path, m.body, _ = strings.Cut(line, " ")
			line = m.method + " " + line
		}
		m.request += line + "\n"
	}
	return m
}

// transcript is an answer as the file has it.
func transcript(a controlAnswer, p wire.Problem) string {
	var b strings.Builder
	fmt.Fprintf(&b, "< %d %s", a.status, p.Type)
	if p.Parameter != "" {
		fmt.Fprintf(&b, " (%s)", p.Parameter)
	}
	if allow := a.header.Get("Allow"); allow != "" {
		fmt.Fprintf(&b, " Allow: %s", allow)
	}
	fmt.Fprintf(&b, "\n< %s: %s\n", p.Title, p.Detail)
	for _, hint := range p.Hints {
		fmt.Fprintf(&b, "< - %s\n", hint)
	}
	return b.String()
}

func TestControl_mistakes_sayWhatWhereAndWhatToDo(t *testing.T) {
	head, mistakes := readMistakes(t)
	var written strings.Builder
	written.WriteString(head + "\n")
	update := flag.Lookup("update-reference").Value.String() == "true"
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		f := w.add(webID, quickPolicy)
		for _, m := range mistakes {
			a := w.do(m.method, m.path, m.body, m.headers...)
			p := into[wire.Problem](t, a, a.status)
			got := transcript(a, p)
			written.WriteString("\n" + m.request + got)
			if got != m.answer && !update {
				t.Errorf("%swas answered\n%snot\n%s", m.request, got, m.answer)
			}
			if a.status < 400 || a.status >= 500 || len(p.Hints) == 0 {
				t.Errorf("%sis no caller's mistake with a hint:\n%s", m.request, got)
			}
		}
		synctest.Wait()
		if wakes, _ := f.calls(); wakes != 0 || len(w.group(webID).Leases) != 0 {
			t.Errorf("a mistake was carried out: %d wakes, %+v", wakes, w.group(webID).Group)
		}
	})
	if update {
		if err := os.WriteFile(mistakesFile, []byte(written.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestControl_tooLong_saysHowLongItMayBe(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		body := strings.Repeat(" ", 16<<10+1)
		p := into[wire.Problem](t, w.do("POST", webID.WakePath(), body), 413)
		if p.Type != wire.ProblemBodyTooLarge || !strings.Contains(p.Detail, "16384 bytes") {
			t.Errorf("a large body: %+v", p)
		}
		reason := `{"reason":"` + strings.Repeat("x", 201) + `"}`
		p = into[wire.Problem](t, w.do("POST", webID.WakePath(), reason), 400)
		if p.Parameter != "reason" || !strings.Contains(p.Detail, "201 bytes, more than 200") {
			t.Errorf("a long reason: %+v", p)
		}
	})
}

// FuzzControl_anyRequest_isNeverOurFault sends any method, path, query and body.
func FuzzControl_anyRequest_isNeverOurFault(f *testing.F) {
	_, mistakes := readMistakes(f)
	for _, m := range mistakes {
		path, query, _ := strings.Cut(m.path, "?")
		f.Add(m.method, path, query, m.body)
	}
	f.Add("POST", webID.WakePath(), "wait=1s", "")
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
	cfg := api.ControlConfig{Loop: loop, Journal: journal, Auth: api.Open{}}
	handler, err := api.NewControl(cfg)
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
