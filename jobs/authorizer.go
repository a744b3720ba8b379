package jobs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

var (
	// ErrToken: the caller sent no token, or something that is none. Of a token that is
	// unknown or has expired Nomad says no more than of one that may not: ErrForbidden.
	ErrToken = errors.New("the token is not accepted by Nomad")
	// ErrForbidden: the caller's token may not do that with the job.
	ErrForbidden = errors.New("the token may not do that with this job")
	// ErrACLsOff: Nomad runs without ACLs, so it would let everybody in.
	ErrACLsOff = errors.New("the ACLs of Nomad are off, so they cannot guard the API; " +
		"use a bearer token file")
)

const (
	verdictFor  = 5 * time.Second // how long an answer is used again
	maxVerdicts = 4096            // answers kept; over it all are forgotten
)

// Authorizer lets Nomad's own ACLs decide who may do what: each question is asked of Nomad
// with the caller's token, in a way that changes nothing, so that policies, roles, workload
// identities and expiry count as Nomad counts them. Answers are used again for 5 s. All
// methods are safe for concurrent use.
type Authorizer struct {
	client client

	lock     sync.Mutex
	verdicts map[question]verdict
	aclsOn   time.Time // until then ACLs need not be checked for again
}

type question struct {
	token [sha256.Size]byte
	id    idle.GroupID
	scale bool
}

type verdict struct {
	err   error
	until time.Time
}

// NewAuthorizer returns an Authorizer that asks through api, whose own token it never uses.
func NewAuthorizer(api *nomad.Client) *Authorizer {
	return &Authorizer{client: client{api}, verdicts: map[question]verdict{}}
}

// Read returns nil when the holder of token may read the group's job (read-job or
// read-job-scaling); otherwise ErrToken, ErrForbidden or ErrACLsOff in the chain, or what
// went wrong in asking.
func (a *Authorizer) Read(ctx context.Context, token string, id idle.GroupID) error {
	return a.decide(ctx, token, id, false)
}

// Scale returns nil when the holder of token may scale the group's job (scale-job or
// submit-job); otherwise as Read.
func (a *Authorizer) Scale(ctx context.Context, token string, id idle.GroupID) error {
	return a.decide(ctx, token, id, true)
}

func (a *Authorizer) decide(ctx context.Context, token string, id idle.GroupID,
	scale bool) error {
	if token == "" {
		return fmt.Errorf("%w: there is none", ErrToken)
	}
	q := question{sha256.Sum256([]byte(token)), id, scale}
	now := time.Now()
	if v, ok := a.remembered(q, now); ok {
		return v.err
	}
	if err := a.requireACLs(ctx, now); err != nil {
		return err
	}
	ask := a.mayRead
	if scale {
		ask = a.mayScale
	}
	err := ask(ctx, token, id)
	if err == nil || errors.Is(err, ErrToken) || errors.Is(err, ErrForbidden) {
		a.remember(q, verdict{err, now.Add(verdictFor)})
	}
	return err
}

func (a *Authorizer) remembered(q question, now time.Time) (verdict, bool) {
	a.lock.Lock()
	defer a.lock.Unlock()
	v, ok := a.verdicts[q]
	return v, ok && now.Before(v.until)
}

func (a *Authorizer) remember(q question, v verdict) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if len(a.verdicts) >= maxVerdicts {
		clear(a.verdicts)
	}
	a.verdicts[q] = v
}

// bogusToken is no token: it tells whether Nomad looks at tokens at all.
const bogusToken = "00000000-0000-0000-0000-000000000000"

// requireACLs makes sure that Nomad refuses somebody.
func (a *Authorizer) requireACLs(ctx context.Context, now time.Time) error {
	a.lock.Lock()
	fresh := now.Before(a.aclsOn)
	a.lock.Unlock()
	if fresh {
		return nil
	}
	err := a.mayRead(ctx, bogusToken, idle.GroupID{Namespace: "default", Job: "doze"})
	switch {
	case err == nil:
		return ErrACLsOff
	case !errors.Is(err, ErrToken) && !errors.Is(err, ErrForbidden):
		return err
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	a.aclsOn = now.Add(time.Minute)
	return nil
}

// mayRead asks for the job's scale status: Nomad checks the token before it looks for the
// job, so "no such job" means allowed.
func (a *Authorizer) mayRead(ctx context.Context, token string, id idle.GroupID) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	q := (&nomad.QueryOptions{Namespace: id.Namespace, AuthToken: token}).WithContext(ctx)
	_, _, err := a.client.api.Jobs().ScaleStatus(id.Job, q)
	return a.judge(ctx, "read job "+quoted(id.Job)+" for the caller", err, http.StatusNotFound)
}

// mayScale asks for a count of -1, which no version of Nomad takes. It refuses it as a bad
// request, but only after it has checked the token: 400 means allowed.
func (a *Authorizer) mayScale(ctx context.Context, token string, id idle.GroupID) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	q := (&nomad.WriteOptions{Namespace: id.Namespace, AuthToken: token}).WithContext(ctx)
	_, _, err := a.client.api.Jobs().ScaleWithRequest(id.Job, &nomad.ScalingRequest{
		Count:  new(int64(-1)),
		Target: map[string]string{"Group": id.Group},
	}, q)
	return a.judge(ctx, "scale job "+quoted(id.Job)+" for the caller", err,
		http.StatusBadRequest)
}

// judge reads the answer to a question; the status harmless means allowed, too.
func (a *Authorizer) judge(ctx context.Context, what string, err error, harmless int) error {
	code, body := answered(err)
	switch {
	case err == nil, code == harmless && !looksLikeHTML(body):
		return nil
	case code >= http.StatusBadRequest && strings.Contains(body, "token"):
		return fmt.Errorf("%w: %s", ErrToken, body)
	case code == http.StatusForbidden:
		return ErrForbidden
	}
	return a.client.explain(ctx, what, err)
}
