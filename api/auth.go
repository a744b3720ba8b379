package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"doze/idle"
)

// Verb is what a caller wants to do with a group.
type Verb uint8

// The verbs that an Authorizer decides on.
const (
	Read  Verb = iota // see its state, its targets and its events
	Write             // wake it, put it to sleep, keep it awake
)

// String returns the verb for messages.
func (v Verb) String() string {
	if v == Write {
		return "write"
	}
	return "read"
}

var (
	// ErrUnauthenticated: the caller's token is missing, unknown or expired. Answered 401.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrForbidden: the caller is known and may not do this. Answered 403; in listings and
	// event streams the group is left out instead.
	ErrForbidden = errors.New("not allowed")
	// ErrNoGuard: what was to tell callers apart does not, so nobody is let in until the
	// operator has changed that. Answered 503.
	ErrNoGuard = errors.New("nobody can be let in")
)

// Authorizer decides who may do what. Implementations are safe for concurrent use.
type Authorizer interface {
	// Authorize returns nil when the caller who sent r may do that to the group. The zero
	// id asks only whether the caller is known at all; an id without Group asks about the
	// whole job. The error wraps ErrUnauthenticated, ErrForbidden or ErrNoGuard, and its text
	// is shown to the caller; any other error means that nobody could tell, is answered 503, and is
	// logged but not shown.
	//
	// It is called once per group for a listing and once per event and reader: an
	// implementation that asks somebody else remembers the answers for a while.
	Authorize(ctx context.Context, r *http.Request, do Verb, id idle.GroupID) error
}

// Open lets everybody do everything who comes over loopback, and nobody else; see
// ValidateListen. A proxy on this machine comes over loopback, and so does all that it lets
// through. The zero value is ready to use.
type Open struct{}

// Authorize returns ErrForbidden for a caller whose address is known and not loopback.
func (Open) Authorize(_ context.Context, r *http.Request, _ Verb, _ idle.GroupID) error {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return nil // a pipe or a Unix socket has no address, and does not leave the machine
	}
	if ip := net.ParseIP(host); ip != nil && !ip.IsLoopback() {
		return fmt.Errorf("%w: without authentication only this machine may call, not %s",
			ErrForbidden, host)
	}
	return nil
}
