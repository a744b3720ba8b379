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
var errGone = errors.New("no such thing in Nomad")

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
		return fmt.Errorf("cannot %s: %s: %w", what, deniedWords(what, body),
			&saidError{code, body, err})
	case code == http.StatusNotFound && !looksLikeHTML(body):
		return fmt.Errorf("cannot %s: %w: %w", what, errGone, &saidError{code, body, err})
	case code != 0 && !looksLikeHTML(body):
		return fmt.Errorf("cannot %s: Nomad says: %w", what, &saidError{code, body, err})
	case code != 0 || notJSON(err):
		return fmt.Errorf("cannot %s: what answers at %s is not Nomad's API; check "+
			"NOMAD_ADDR: %w", what, c.api.Address(), &saidError{code, "", err})
	}
	return fmt.Errorf("cannot %s: cannot reach Nomad at %s: %w", what, c.api.Address(),
		netError(err))
}

// saidError is an error answer in its own words, or by its status where those won't help.
type saidError struct {
	code int
	body string
	err  error
}

func (e *saidError) Error() string {
	switch {
	case e.body != "":
		return e.body
	case e.code != 0:
		return fmt.Sprintf("status %d", e.code)
	}
	return e.err.Error()
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

// deniedWords says why Nomad refused. It tells neither an expired nor an unknown token from
// one that lacks a capability (2.0.5), so the capability is named that would be needed.
func deniedWords(what, body string) string {
	if strings.Contains(body, "registration") {
		return "the cluster's scheduler rejects job registration for this token"
	}
	need := "read-job"
	for _, c := range capabilities {
		if strings.HasPrefix(what, c.what) {
			need = c.capability
			break
		}
	}
	return "the Nomad token lacks the capability " + need + ", or is no longer valid"
}

// tokenWords says what is wrong with Doze's own token itself; "": nothing that is seen.
func (c client) tokenWords(ctx context.Context) string {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	_, _, err := c.api.ACLTokens().Self((&nomad.QueryOptions{}).WithContext(ctx))
	code, body := answered(err)
	switch {
	case strings.Contains(body, "expired"):
		return "; the Nomad token has expired: give Doze a new one"
	case code == http.StatusForbidden, strings.Contains(body, "token"):
		return "; Nomad does not know the token (NOMAD_TOKEN): revoked or mistyped?"
	}
	return ""
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
