package wire

import (
	"net/url"
	"strings"
)

// The paths of the control API that name no group.
const (
	GroupsPath      = "/v1/groups"
	EventsPath      = "/v1/events"
	DiagnosticsPath = "/v1/diagnostics"
	OpenAPIPath     = "/v1/openapi.json"
	UIPath          = "/ui/"
	LivePath        = "/livez"
	ReadyPath       = "/readyz"
	MetricsPath     = "/metrics"
)

// ID names the unit that sleeps and wakes. All three parts are required. Job IDs may hold
// slashes, which is why the paths below are percent-encoded (RFC 3986, section 2.1).
type ID struct {
	// Namespace is the job's namespace in Nomad, "default" where none was given.
	Namespace string `json:"namespace"`
	// Job is the job's ID.
	Job string `json:"job"`
	// Group is the task group's name within the job.
	Group string `json:"group"`
}

// String returns namespace/job/group, for people; it cannot be parsed where the job's ID
// holds a slash.
func (id ID) String() string { return id.Namespace + "/" + id.Job + "/" + id.Group }

// Path is where the group is read: GET.
func (id ID) Path() string {
	return GroupsPath + "/" + segment(id.Namespace) + "/" + segment(id.Job) +
		"/" + segment(id.Group)
}

// WakePath is where the group is woken: POST, optionally with ?wait=30s.
func (id ID) WakePath() string { return id.Path() + "/wake" }

// SleepPath is where the group is put to sleep: POST, optionally with ?force=true.
func (id ID) SleepPath() string { return id.Path() + "/sleep" }

// LeasePath is where the group's lease of that name is taken (PUT, optionally with ?for=2h)
// and given back (DELETE).
func (id ID) LeasePath(name string) string { return id.Path() + "/lease/" + segment(name) }

// segment escapes one path segment. "." and ".." are written in percent-encoding too, so
// that nothing on the way takes them for a step in a hierarchy.
func segment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}
