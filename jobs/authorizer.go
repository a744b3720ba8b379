package jobs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

var (
	// ErrToken: the caller sent no token, or one that Nomad does not know (any more).
	ErrToken = errors.New("the token is not accepted by Nomad")
	// ErrForbidden: the caller's token may not do that with the job.
	ErrForbidden = errors.New("the token may not do that with this job")
	// ErrACLsOff: Nomad runs without ACLs, so it would let everybody in.
	ErrACLsOff = errors.New("the ACLs of Nomad are off, so they cannot guard the API; " +
		"use a bearer token file (-api-token-file, DOZE_API_TOKEN_FILE)")
)

const (
	verdictFor  = 5 * time.Second  // how long an answer is used again
	readableFor = 30 * time.Second // the same for leave to read: lists and event streams ask
	maxVerdicts = 4096             // answers kept; over it all are forgotten
)

// Authorizer lets Nomad's own ACLs decide who may do what: each question is asked of Nomad
// with the caller's token, in a way that changes nothing, so that policies, roles, workload
// identities and expiry count as Nomad counts them. Nomad gives the capabilities that count
// here by namespace, so one answer serves all jobs of a namespace. Answers are used again:
// leave to read for about 30 s, all others for 5 s. All methods are safe for concurrent use.
type Authorizer struct {
	client client

	lock     sync.Mutex
	verdicts map[question]verdict
	aclsOn   time.Time // until then ACLs need not be checked for again
}

type question struct {
	token     [sha256.Size]byte
	namespace string // "" for aboutToken
	about     about
}

// about is what a question is about.
type about uint8

const (
	aboutToken about = iota
	aboutReading
	aboutScaling
)

type verdict struct {
	err   error
	until time.Time
}

// NewAuthorizer returns an Authorizer that asks through api, whose own token it never uses.
func NewAuthorizer(api *nomad.Client) *Authorizer {
	return &Authorizer{client: client{api}, verdicts: map[question]verdict{}}
}

// Check returns ErrACLsOff where Nomad would let everybody in, so that nobody may be; or what
// went wrong in asking.
func (a *Authorizer) Check(ctx context.Context) error { return a.requireACLs(ctx, time.Now()) }

// Known returns nil when Nomad knows the token, whatever it allows; otherwise ErrToken or
// ErrACLsOff in the chain, or what went wrong in asking.
func (a *Authorizer) Known(ctx context.Context, token string) error {
	return a.decide(ctx, token, idle.GroupID{}, aboutToken)
}

// Read returns nil when the holder of token may read the group's job (read-job or
// read-job-scaling); otherwise ErrToken, ErrForbidden or ErrACLsOff in the chain, or what
// went wrong in asking.
func (a *Authorizer) Read(ctx context.Context, token string, id idle.GroupID) error {
	return a.decide(ctx, token, id, aboutReading)
}

// Scale returns nil when the holder of token may scale the group's job (scale-job or
// submit-job); otherwise as Read.
func (a *Authorizer) Scale(ctx context.Context, token string, id idle.GroupID) error {
	return a.decide(ctx, token, id, aboutScaling)
}

func (a *Authorizer) decide(ctx context.Context, token string, id idle.GroupID,
	what about) error {
	if token == "" {
		if err := a.Check(ctx); errors.Is(err, ErrACLsOff) {
			return err // no token would help
		}
		return fmt.Errorf("%w: there is none", ErrToken)
	}
	q := question{sha256.Sum256([]byte(token)), id.Namespace, what}
	now := time.Now()
	if v, ok := a.remembered(q, now); ok {
		return v.err
	}
	if err := a.requireACLs(ctx, now); err != nil {
		return err
	}
	err := a.ask(ctx, token, id, what)
	if err == nil || errors.Is(err, ErrToken) || errors.Is(err, ErrForbidden) {
		a.remember(q, verdict{err, now.Add(verdictLasts(what, err))})
	}
	return err
}

// verdictLasts is how long an answer is used again. Those to a list are not all asked for
// again at the same moment.
func verdictLasts(what about, err error) time.Duration {
	if what == aboutReading && err == nil {
		return readableFor - rand.N(readableFor/4)
	}
	return verdictFor
}

// ask asks Nomad. It refuses in the same words what may not and whom it does not know, so
// that the second is asked for too.
func (a *Authorizer) ask(ctx context.Context, token string, id idle.GroupID,
	what about) (err error) {
	switch what {
	case aboutReading:
		err = a.mayRead(ctx, token, id)
	case aboutScaling:
		err = a.mayScale(ctx, token, id)
	default:
		return a.isKnown(ctx, token)
	}
	if errors.Is(err, ErrForbidden) {
		if unknown := a.Known(ctx, token); errors.Is(unknown, ErrToken) {
			return unknown
		}
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

// isKnown asks for the namespaces whose names begin like nobody's: who is known, by a token
// or a workload identity, gets an empty list, even where he may do nothing at all. Nomad
// 2.0.5 refuses all others, the expired too; /v1/acl/token/self, which says more of those,
// does not know workload identities.
func (a *Authorizer) isKnown(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	q := (&nomad.QueryOptions{AuthToken: token, Prefix: noNamespace}).WithContext(ctx)
	_, _, err := a.client.api.Namespaces().List(q)
	err = a.judge(ctx, "ask whether the caller is known", err, 0)
	if errors.Is(err, ErrForbidden) {
		return fmt.Errorf("%w: it is unknown, or no longer valid", ErrToken)
	}
	return err
}

// noNamespace is no beginning of a namespace's name: those are letters, digits and dashes.
const noNamespace = "~"

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

// judge reads the answer to a question; the status harmless means allowed, too, 0: none.
func (a *Authorizer) judge(ctx context.Context, what string, err error, harmless int) error {
	code, body := answered(err)
	switch {
	case err == nil, code != 0 && code == harmless && !looksLikeHTML(body):
		return nil
	case code >= http.StatusBadRequest && strings.Contains(body, "token"):
		return fmt.Errorf("%w: %s", ErrToken, body)
	case code == http.StatusForbidden:
		return ErrForbidden
	}
	return a.client.explain(ctx, what, err)
}
