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
	for _, path := range i.Paths {
		if prefix, wild := strings.CutSuffix(path, "*"); r.URL.Path == path ||
			wild && strings.HasPrefix(r.URL.Path, prefix) {
			return true
		}
	}
	if len(i.UserAgents) == 0 {
		return false
	}
	agent := r.Header.Get("User-Agent")
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
