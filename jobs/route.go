package jobs

// Route says which requests belong to a group.
type Route struct {
	// Hosts are lower-case names without port and trailing dot; "*." in front stands for
	// one or more labels. At least one.
	Hosts []string
	// PathPrefix starts with a slash; "/" is every path.
	PathPrefix string
}
