package healthgate

import (
	"net/http"
	"strconv"
	"strings"
)

const (
	plainMediaType = "application/json"
	// draftMediaType is of draft-inadarei-api-health-check, which expired as a draft but is
	// what health aggregators ask for.
	draftMediaType = "application/health+json"
)

// healthAnswers are one result in the two media types.
type healthAnswers struct {
	plain, draft healthAnswer
}

// healthAnswer is a whole response, built once and written any number of times. Its header
// values are shared by all responses: they are full slices, so that adding to one copies it.
type healthAnswer struct {
	status int
	header []healthHeader
	body   []byte
}

type healthHeader struct {
	name   string
	values []string
}

// checkState is a check's name and whether it passed, for an answer that reports checks.
type checkState struct {
	name   string
	passes bool
}

func newHealthAnswers(ok bool, checks []checkState) healthAnswers {
	status := http.StatusOK
	if !ok {
		status = http.StatusServiceUnavailable
	}
	return healthAnswers{
		plain: newHealthAnswer(status, plainMediaType, plainHealthBody(ok, checks)),
		draft: newHealthAnswer(status, draftMediaType, draftHealthBody(ok, checks)),
	}
}

func newHealthAnswer(status int, mediaType, body string) healthAnswer {
	return healthAnswer{
		status: status,
		header: []healthHeader{
			{"Cache-Control", []string{"no-store"}},
			{"Content-Length", []string{strconv.Itoa(len(body))}},
			{"Content-Type", []string{mediaType}},
			{"Vary", []string{"Accept"}},
		},
		body: []byte(body),
	}
}

func newMethodAnswer() healthAnswer {
	a := newHealthAnswer(http.StatusMethodNotAllowed, "text/plain; charset=utf-8",
		"only GET and HEAD are allowed here\n")
	a.header = append(a.header, healthHeader{"Allow", []string{"GET, HEAD"}})
	return a
}

func (a *healthAnswer) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	for _, h := range a.header {
		header[h.name] = h.values
	}
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.body) // it fails only for a client that left: nobody to tell
	}
}

func plainHealthBody(ok bool, checks []checkState) string {
	return healthBody(healthWord(ok, "ok", "unavailable"), checks, func(c checkState) string {
		return `"` + healthWord(c.passes, "ok", "fail") + `"`
	})
}

func draftHealthBody(ok bool, checks []checkState) string {
	return healthBody(healthWord(ok, "pass", "fail"), checks, func(c checkState) string {
		return `[{"status":"` + healthWord(c.passes, "pass", "fail") + `"}]`
	})
}

// healthBody quotes nothing: the names of checks are validated to need no escape.
func healthBody(status string, checks []checkState, value func(checkState) string) string {
	var body strings.Builder
	body.WriteString(`{"status":"` + status + `"`)
	for i, c := range checks {
		body.WriteString(healthWord(i == 0, `,"checks":{`, `,`))
		body.WriteString(`"` + c.name + `":` + value(c))
	}
	body.WriteString(healthWord(len(checks) > 0, `}}`, `}`))
	return body.String()
}

func healthWord(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
