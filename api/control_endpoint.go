package api

import (
	"net/http"

	"doze/api/wire"
)

// endpoint is one row of the control API: what the router, the strictness of the answers and
// the reference are all made from.
type endpoint struct {
	id      string // OpenAPI's operationId
	method  string
	path    string // a gorilla/mux template
	verb    Verb
	open    bool // needs no token: tells nothing of any group
	asset   bool // part of the page, not of the reference
	doc     string
	params  []parameter
	command bool // takes a wire.Command
	answers []answer
	serve   func(*control, http.ResponseWriter, *call) error
}

// answer is one status that an endpoint may answer with, for the reference.
type answer struct {
	status int
	body   any // zero value of what it holds; nil: see mediaType
	// mediaType is application/json where it is left out.
	mediaType string
	doc       string
}

const (
	groupTemplate = wire.GroupsPath + "/{namespace}/{job}/{group}"
	leaseTemplate = groupTemplate + "/lease/{name}"
)

// endpoints lists the whole API.
func endpoints() []endpoint {
	list := append(readEndpoints(), writeEndpoints()...)
	return append(list, openEndpoints()...)
}

func readEndpoints() []endpoint {
	return []endpoint{{
		id: "listGroups", method: http.MethodGet, path: wire.GroupsPath,
		doc:     "List every managed group that the caller may read.",
		params:  []parameter{namespaceParam, stateParam},
		answers: []answer{{200, wire.GroupList{}, "", "The groups."}},
		serve:   (*control).listGroups,
	}, {
		id: "readGroup", method: http.MethodGet, path: groupTemplate,
		doc:     "Read one group, with its targets and its last transitions: why is it awake?",
		answers: []answer{{200, wire.GroupDetail{}, "", "The group."}},
		serve:   (*control).readGroup,
	}, {
		id: "followEvents", method: http.MethodGet, path: wire.EventsPath,
		doc: "Follow every change of state as server-sent events. With the header " +
			"Last-Event-ID the stream goes on after that event, even after a restart of " +
			"doze; where events are lost, a reset event says so first.",
		params:  []parameter{namespaceParam, jobParam, groupParam, stateParam},
		answers: []answer{{200, nil, "text/event-stream", "The stream; see Event and Reset."}},
		serve:   (*control).followEvents,
	}, {
		id: "listDiagnostics", method: http.MethodGet, path: wire.DiagnosticsPath,
		doc:     "Say what is wrong with which job, in words.",
		answers: []answer{{200, wire.DiagnosticList{}, "", "The diagnostics."}},
		serve:   (*control).listDiagnostics,
	}}
}

func writeEndpoints() []endpoint {
	return []endpoint{{
		id: "wakeGroup", method: http.MethodPost, path: groupTemplate + "/wake", verb: Write,
		doc: "Wake a group. Waking what is awake is no error and counts as activity; while " +
			"a failed wake is backed off from, this tries again all the same.",
		params: []parameter{waitParam}, command: true,
		answers: []answer{
			{200, wire.Outcome{}, "", "With wait: the group is ready."},
			{202, wire.Outcome{}, "", "Without wait: the wake has been asked for."},
			{504, wire.Problem{}, problemType, "With wait: not ready in time, or the wake " +
				"failed; wake has the phases."},
		},
		serve: (*control).wakeGroup,
	}, {
		id: "sleepGroup", method: http.MethodPost, path: groupTemplate + "/sleep", verb: Write,
		doc:    "Put a group to sleep now.",
		params: []parameter{forceParam}, command: true,
		answers: []answer{
			{200, wire.Outcome{}, "", "The group is asleep."},
			{202, wire.Outcome{}, "", "The group is falling asleep."},
			{409, wire.Problem{}, problemType, "Requests are in flight or leases are out."},
		},
		serve: (*control).sleepGroup,
	}, {
		id: "keepAwake", method: http.MethodPut, path: leaseTemplate, verb: Write,
		doc: "Keep a group awake for a while, and wake it if it sleeps. The longest lease " +
			"wins: a shorter one never shortens another, not even one of the same name.",
		params: []parameter{forParam},
		answers: []answer{
			{200, wire.LeaseOutcome{}, "", "The lease is out."},
			{409, wire.Problem{}, problemType, "The group has too many leases."},
		},
		serve: (*control).keepAwake,
	}, {
		id: "dropLease", method: http.MethodDelete, path: leaseTemplate, verb: Write,
		doc:     "Give a lease back. Giving back what is not there is no error.",
		answers: []answer{{200, wire.LeaseOutcome{}, "", "There is no such lease any more."}},
		serve:   (*control).dropLease,
	}}
}

func openEndpoints() []endpoint {
	get := func(id, path, doc string, a answer) endpoint {
		return endpoint{id: id, method: http.MethodGet, path: path, doc: doc, open: true,
			answers: []answer{a}}
	}
	openAPI := get("readOpenAPI", wire.OpenAPIPath, "Read this description.",
		answer{200, nil, "application/json", "An OpenAPI 3.1 document."})
	openAPI.serve = (*control).readOpenAPI
	metrics := get("readMetrics", wire.MetricsPath, "Read metrics for Prometheus.",
		answer{200, nil, "text/plain", "Metrics."})
	metrics.serve = (*control).readMetrics
	live := get("live", wire.LivePath, "Say whether doze is worth keeping running.",
		answer{200, nil, "application/json", "It is."})
	ready := get("ready", wire.ReadyPath, "Say whether doze may get requests.",
		answer{200, nil, "application/json", "It may."})
	ready.answers = append(ready.answers, answer{503, nil, "application/json", "It may not."})
	return append([]endpoint{openAPI, metrics, live, ready}, pageEndpoints()...)
}
