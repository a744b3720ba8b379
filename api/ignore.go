package api

import (
	"net/http"
	"strings"
)

// Ignore names the requests that never wake a group and never count as activity, such as
// those of uptime monitors and crawlers. The zero value ignores nothing.
type Ignore struct {
	// Paths are compared with the decoded path: exactly, or as a prefix where the entry
	// ends in "*".
	Paths []string
	// UserAgents are looked for anywhere in the User-Agent header, whatever the case of
	// ASCII letters.
	UserAgents []string
}

// Match reports whether the request is to be ignored. It does not allocate.
func (i *Ignore) Match(r *http.Request) bool {
	return i.match(r.URL.Path, r.Header.Get("User-Agent"))
}

func (i *Ignore) match(path, agent string) bool {
	for _, ignored := range i.Paths {
		if prefix, wild := strings.CutSuffix(ignored, "*"); path == ignored ||
			wild && strings.HasPrefix(path, prefix) {
			return true
		}
	}
	for _, part := range i.UserAgents {
		if part != "" && containsFold(agent, part) {
			return true
		}
	}
	return false
}

func containsFold(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(part)], part) {
			return true
		}
	}
	return false
}
