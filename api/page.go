package api

import (
	"bytes"
	_ "embed" // page.html
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"
)

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// page is what a person sees while an application is not there yet. It loads nothing from
// elsewhere, runs no script, reloads itself, and is never sent with status 200, so that
// neither a program nor a cache can take it for the application's.
type page struct {
	Title, Text string
	Reload      int // seconds
	Failed      bool
}

// wakingPage says how long the wait can be at most.
func wakingPage(limit time.Duration) page {
	return page{
		Title: "Waking up…",
		Text: fmt.Sprintf("This page appears by itself as soon as it is ready, "+
			"within %s at the latest.", inWords(limit)),
		Reload: 1,
	}
}

func failedPage(retry int) page {
	return page{
		Title: "Not available right now",
		Text: fmt.Sprintf("Trying again in %s. There is nothing you need to do.",
			inWords(time.Duration(retry)*time.Second)),
		Reload: retry,
		Failed: true,
	}
}

// inWords writes d for people: in minutes where it is whole ones, else in seconds.
func inWords(d time.Duration) string {
	n, unit := (d+time.Second-1)/time.Second, "second"
	if d >= time.Minute && d%time.Minute == 0 {
		n, unit = d/time.Minute, "minute"
	}
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

func (p page) render() ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("cannot render the waiting page: %w", err)
	}
	return b.Bytes(), nil
}

// isNavigation reports whether a person is looking at the answer: a GET that a browser
// makes to show a document. Browsers say so in Sec-Fetch-Mode (W3C Fetch Metadata); where
// that is missing, it takes an Accept that names text/html and no XMLHttpRequest.
func isNavigation(r *http.Request) bool {
	if r.Method != http.MethodGet || r.Header.Get("Upgrade") != "" {
		return false
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate" && acceptsHTML(r.Header)
	}
	return acceptsHTML(r.Header) && r.Header.Get("X-Requested-With") == ""
}

// acceptsHTML reports whether HTML is asked for by name: */* is what programs send.
func acceptsHTML(h http.Header) bool {
	for _, line := range h.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			kind, params, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "text/html", "application/xhtml+xml":
				return strings.ReplaceAll(params, " ", "") != "q=0"
			}
		}
	}
	return false
}
