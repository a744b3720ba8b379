package jobs

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doze/healthgate"
)

// httpSchema is what only an http probe has.
func httpSchema(c *healthgate.ProbeConfig) schema {
	return schema{
		{"path", textValue{to: &c.Path, check: absolutePath}, `"/"`,
			"Request path, with a query where needed."},
		{"method", textValue{to: &c.Method, check: methodWord}, `"GET"`, "Request method."},
		{"host", textValue{to: &c.Host, check: notEmpty}, "the target's address",
			"Host header."},
		{"headers", headersValue{&c.Header}, "none", "Block of further headers."},
		{"statuses", textValue{to: &c.Statuses, check: statusRanges}, `"200-399"`,
			"Accepted statuses, as in `\"200,204,300-399\"`."},
		{"body", textValue{to: &c.Body, check: pattern}, "any",
			"Regular expression that the first 64 KiB of the answer must match."},
	}
}

// headersValue is a block of header names and values.
type headersValue struct{ to *http.Header }

func (headersValue) kind() string { return "block" }

func (h headersValue) read(at place, v any) {
	b, ok := oneBlock(at, v)
	if !ok {
		return
	}
	header := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(b.keys)) {
		here := b.at.under(name)
		values := []any{b.keys[name]}
		if list, ok := listOf(b.keys[name]); ok {
			values = list
		}
		for _, v := range values {
			if s, ok := textOf(here, v); ok && goodHeader(here, name, s) {
				header.Add(name, s)
			}
		}
	}
	*h.to = header
}

// goodHeader checks a header's name (a token of RFC 9110, section 5.6.2) and value.
func goodHeader(at place, name, s string) bool {
	if !isToken(name) {
		at.fault(fmt.Sprintf("%q is not a header name", name), "")
		return false
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 127 }) {
		at.fault("has a control character", "")
		return false
	}
	return true
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func methodWord(at place, s string) {
	if !isToken(s) {
		at.fault(fmt.Sprintf("%q is not a method", s), "write GET, HEAD, POST …")
	}
}

func absolutePath(at place, s string) {
	if !strings.HasPrefix(s, "/") {
		at.fault(fmt.Sprintf("%q does not start with a slash", s), fmt.Sprintf("write %q", "/"+s))
	}
}

func pattern(at place, s string) {
	if _, err := regexp.Compile(s); err != nil {
		at.fault(fmt.Sprintf("%q is not a regular expression: %v", s, err), "")
	}
}

// statusRanges checks a list such as "200,204,300-399".
func statusRanges(at place, s string) {
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, to := status(first), status(last)
		if from == 0 || to == 0 || from > to {
			at.fault(fmt.Sprintf("%q is not a status or a range of them", part),
				`write it as "200,204,300-399"`)
		}
	}
}

// status returns the HTTP status that s is, 0 for none.
func status(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 100 || n > 599 {
		return 0
	}
	return n
}
