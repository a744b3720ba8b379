package jobs

import (
	"maps"
	"net/http"
	"slices"

	"doze/healthgate"
)

// httpSchema is what only an http probe has.
func httpSchema(c *healthgate.ProbeConfig) schema {
	return schema{
		{"path", textValue{to: &c.Path, check: notEmpty}, `"/"`,
			"Request path, with a query where needed."},
		{"method", textValue{to: &c.Method, check: notEmpty}, `"GET"`, "Request method."},
		{"host", textValue{to: &c.Host, check: notEmpty}, "the target's address",
			"Host header."},
		{"headers", headersValue{&c.Header}, "none",
			"Block of further headers, each with one text or a list of them."},
		{"statuses", textValue{to: &c.Statuses, check: notEmpty}, `"200-399"`,
			"Accepted statuses, as in `\"200,204,300-399\"`. Redirects are not followed."},
		{"body", textValue{to: &c.Body}, "any",
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
		values, ok := listOf(b.keys[name])
		if !ok {
			values = []any{b.keys[name]}
		}
		for _, v := range values {
			if s, ok := textOf(b.at.under(name), v); ok {
				header.Add(name, s)
			}
		}
	}
	*h.to = header
}
