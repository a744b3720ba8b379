package wire

// Diagnostic is one thing that is wrong with one job, in words. A group with one is left
// alone, never half-managed.
type Diagnostic struct {
	// Namespace is the job's namespace.
	Namespace string `json:"namespace"`
	// Job is the job's ID.
	Job string `json:"job"`
	// Group is the task group; left out: the whole job.
	Group string `json:"group,omitempty"`
	// Path is where in the job, e.g. `group "web" > scaling > policy > doze > idle_afer`;
	// left out: the whole group or job.
	Path string `json:"path,omitempty"`
	// Problem is what is wrong.
	Problem string `json:"problem"`
	// Hint is what to do about it; left out: nothing better than Problem is known.
	Hint string `json:"hint,omitempty"`
}

// DiagnosticList answers GET /v1/diagnostics.
type DiagnosticList struct {
	// Diagnostics are those of the jobs that the caller may read; empty: nothing is wrong.
	Diagnostics []Diagnostic `json:"diagnostics"`
}
