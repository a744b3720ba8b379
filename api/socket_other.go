//go:build !linux

package api

// closedByPeer cannot tell here: a held request with a body keeps its place until its
// deadline even if the client leaves.
func closedByPeer(int) bool { return false }

// hasInput cannot tell here: what cannot be repeated may fail on a connection that the
// target has just closed.
func hasInput(int) bool { return false }
