package jobs

// Ignore names the requests that never wake a group and never count as activity, such as
// those of uptime monitors and crawlers. The zero value ignores nothing.
type Ignore struct {
	// Paths are compared with the request's path: exactly, or as a prefix where the entry
	// ends in "*".
	Paths []string
	// UserAgents are looked for anywhere in the User-Agent header, whatever the case.
	UserAgents []string
}
