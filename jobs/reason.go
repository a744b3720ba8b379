package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// errNoAnswer is the cause of a call that took longer than its timeout.
var errNoAnswer = errors.New("it did not answer in time")

// errGone marks what Nomad does not have (any more).
var errGone = errors.New("Nomad does not have it")

func quoted(s string) string { return strconv.Quote(s) }

// explain words an error of a call to Nomad: what could not be done, where, why, and what
// to do about it. The cause stays in the chain.
func (c client) explain(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("cannot %s: Nomad at %s: %w", what, c.api.Address(), cause)
	}
	code, body := answered(err)
	switch {
	case code == http.StatusForbidden:
		return fmt.Errorf("cannot %s: %s: %w", what, deniedWords(what, body), err)
	case code == http.StatusNotFound && !looksLikeHTML(body):
		return fmt.Errorf("cannot %s: %w: %w", what, errGone, err)
	case code != 0 && !looksLikeHTML(body):
		return fmt.Errorf("cannot %s: Nomad says: %w", what, &saidError{code, body, err})
	case code != 0 || notJSON(err):
		return fmt.Errorf("cannot %s: what answers at %s is not Nomad's API; check "+
			"NOMAD_ADDR: %w", what, c.api.Address(), err)
	}
	return fmt.Errorf("cannot %s: cannot reach Nomad at %s: %w", what, c.api.Address(),
		netError(err))
}

// saidError is an error answer of Nomad, in Nomad's own words.
type saidError struct {
	code int
	body string
	err  error
}

func (e *saidError) Error() string {
	if e.body == "" {
		return http.StatusText(e.code)
	}
	return e.body
}

func (e *saidError) Unwrap() error { return e.err }

// answered returns the status and text of an error answer; 0 when there was no answer.
func answered(err error) (code int, body string) {
	if r, ok := errors.AsType[nomad.UnexpectedResponseError](err); ok {
		return r.StatusCode(), strings.TrimSpace(r.Body())
	}
	return 0, ""
}

func looksLikeHTML(body string) bool { return strings.HasPrefix(body, "<") }

// notJSON reports whether something answered, but not in JSON.
func notJSON(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, shape := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || shape
}

// netError drops the repetition of method and URL that net/http puts around an error.
func netError(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op
	}
	return err
}

// capabilities are what a token needs for what is done here.
var capabilities = []struct{ what, capability string }{
	{"scale ", "scale-job"},
	{"register ", "submit-job"},
	{"read the scale status", "read-job-scaling or read-job"},
	{"list the jobs", "list-jobs"},
	{"list the scaling policies", "list-scaling-policies, or list-jobs and read-job"},
}

// deniedWords says why Nomad refused, and which capability the token seems to lack.
func deniedWords(what, body string) string {
	switch {
	case strings.Contains(body, "token expired"):
		return "the Nomad token has expired; give Doze a new one"
	case strings.Contains(body, "token not found"):
		return "Nomad does not know the token (revoked, expired or mistyped); " +
			"check NOMAD_TOKEN"
	case strings.Contains(body, "registration disabled"):
		return "the cluster's scheduler rejects job registration for this token"
	}
	for _, c := range capabilities {
		if strings.HasPrefix(what, c.what) {
			return "the Nomad token lacks the capability " + c.capability
		}
	}
	return "the Nomad token lacks the capability read-job"
}

// isConflict: somebody else changed the job between reading and writing it.
func isConflict(err error) bool {
	_, body := answered(err)
	return strings.Contains(body, "Enforcing job modify index")
}

// isDeploying: the job has an active deployment, so Nomad won't scale it.
func isDeploying(err error) bool {
	_, body := answered(err)
	return strings.Contains(body, "scaling blocked due to active deployment")
}

func isDenied(err error) bool {
	code, _ := answered(err)
	return code == http.StatusForbidden
}

// isPassing: Nomad answered that it cannot just now (no leader, too many requests, an
// error of its own), so asking again soon makes sense.
func isPassing(err error) bool {
	code, body := answered(err)
	return !looksLikeHTML(body) && !isConflict(err) &&
		(code == http.StatusTooManyRequests || code >= 500)
}
