package jobs

import (
	"fmt"
	"strings"
)

// Ignore names the requests that never wake a group and never count as activity, such as
// those of uptime monitors and crawlers. The zero value ignores nothing.
type Ignore struct {
	// Paths are compared with the request's path: exactly, or as a prefix where the entry
	// ends in "*".
	Paths []string
	// UserAgents are looked for anywhere in the User-Agent header, whatever the case.
	UserAgents []string
}

// ignoreValue is one ignore block.
type ignoreValue struct{ to *Ignore }

func (ignoreValue) kind() string { return "block" }

func (i ignoreValue) read(at place, v any) {
	if b, ok := oneBlock(at, v); ok {
		ignoreSchema(i.to).read(b)
	}
}

// ignoreSchema is the ignore block.
func ignoreSchema(i *Ignore) schema {
	return schema{
		{"paths", textsValue{i.addPath}, "none",
			"Paths, compared whole, or as a prefix where the entry ends in `*`."},
		{"user_agents", textsValue{i.addAgent}, "none",
			"Parts of the User-Agent header; upper and lower case are the same."},
	}
}

func (i *Ignore) addPath(at place, s string) {
	switch prefix, _ := strings.CutSuffix(s, "*"); {
	case prefix == "" || s == "/*":
		at.fault(fmt.Sprintf("%q ignores every request, so none could wake the group", s),
			"name the monitor's path")
	case !strings.HasPrefix(s, "/"):
		at.fault(fmt.Sprintf("%q does not start with a slash", s),
			fmt.Sprintf("write %q", "/"+s))
	case strings.Contains(prefix, "*"):
		at.fault(fmt.Sprintf("%q has a wildcard that is not at its end", s), "")
	case strings.ContainsAny(s, "?#"):
		at.fault(fmt.Sprintf("%q has a query or fragment", s), "only the path is compared")
	default:
		i.Paths = append(i.Paths, s)
	}
}

func (i *Ignore) addAgent(at place, s string) {
	if strings.TrimSpace(s) == "" {
		at.fault("an empty user agent ignores every request", "name the monitor")
		return
	}
	i.UserAgents = append(i.UserAgents, s)
}
