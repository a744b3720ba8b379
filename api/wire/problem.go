package wire

// Problem is every error of the API: RFC 9457, media type application/problem+json. Type is
// stable and is what a program decides by; Title and Detail are for people and may change.
type Problem struct {
	// Type is one of the stable types: the Problem… constants of package wire.
	Type string `json:"type"`
	// Title says what kind of problem it is.
	Title string `json:"title"`
	// Status is the HTTP status.
	Status int `json:"status"`
	// Detail says what is wrong with this request, and where.
	Detail string `json:"detail"`
	// Hints say what to do; left out: nothing can be done.
	Hints []string `json:"hints,omitempty"`
	// Parameter is the query parameter, path segment or body field that is wrong; left out
	// where none is.
	Parameter string `json:"parameter,omitempty"`
	// Group is the state of the group that was asked for, in answers to commands.
	Group *Group `json:"group,omitempty"`
	// Wake is the wake that did not become ready, with its phases.
	Wake *Wake `json:"wake,omitempty"`
	// Deadline is the point in time until which the answer waited.
	Deadline Time `json:"deadline,omitzero"`
	// Waited is how long the answer waited; left out without wait.
	Waited Duration `json:"waited,omitzero"`
}

// Error returns the title and the detail.
func (p *Problem) Error() string { return p.Title + ": " + p.Detail }

// The types of problems.
const (
	ProblemUnknownPath      = "urn:doze:problem:unknown-path"
	ProblemUnknownGroup     = "urn:doze:problem:unknown-group"
	ProblemMethod           = "urn:doze:problem:method-not-allowed"
	ProblemParameter        = "urn:doze:problem:bad-parameter"
	ProblemUnknownParameter = "urn:doze:problem:unknown-parameter"
	ProblemBody             = "urn:doze:problem:bad-body"
	ProblemBodyTooLarge     = "urn:doze:problem:body-too-large"
	ProblemMediaType        = "urn:doze:problem:unsupported-media-type"
	ProblemUnauthenticated  = "urn:doze:problem:unauthenticated"
	ProblemForbidden        = "urn:doze:problem:forbidden"
	ProblemAuthUnavailable  = "urn:doze:problem:authorization-unavailable"
	ProblemUnknownHost      = "urn:doze:problem:unknown-host"
	ProblemCrossOrigin      = "urn:doze:problem:cross-origin"
	ProblemInUse            = "urn:doze:problem:group-in-use"
	ProblemTooManyLeases    = "urn:doze:problem:too-many-leases"
	ProblemWakeTimeout      = "urn:doze:problem:wake-not-ready-in-time"
	ProblemWakeFailed       = "urn:doze:problem:wake-failed"
	ProblemBusy             = "urn:doze:problem:too-many-streams"
	ProblemStopping         = "urn:doze:problem:stopping"
	ProblemInternal         = "urn:doze:problem:internal"
)
