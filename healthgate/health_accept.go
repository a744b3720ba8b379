package healthgate

import (
	"strconv"
	"strings"
)

// prefersHealthJSON reports whether an Accept header (RFC 9110, 12.5.1) names
// application/health+json and wants application/json no more than it. A wildcard asks for
// nothing special.
func prefersHealthJSON(accept []string) bool {
	var draft, plain float64
	for _, line := range accept {
		for item := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(item, ";")
			switch name = strings.TrimSpace(name); {
			case strings.EqualFold(name, draftMediaType):
				draft = max(draft, acceptWeight(parameters))
			case strings.EqualFold(name, plainMediaType):
				plain = max(plain, acceptWeight(parameters))
			}
		}
	}
	return draft > 0 && draft >= plain
}

// acceptWeight returns the q parameter, 1 without one and 0 for one that is none.
func acceptWeight(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, found := strings.Cut(strings.TrimSpace(p), "=")
		if !found || !strings.EqualFold(name, "q") {
			continue
		}
		q, err := strconv.ParseFloat(value, 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 0
		}
		return q
	}
	return 1
}
