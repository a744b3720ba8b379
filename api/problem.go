package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"doze/api/wire"
	"doze/idle"
)

// problemKind is one kind of error that the control API answers with.
type problemKind int

const (
	unknownPath problemKind = iota
	unknownGroup
	wrongMethod
	badParameter
	unknownParameter
	badBody
	bodyTooLarge
	wrongMediaType
	unauthenticated
	forbidden
	authUnavailable
	unknownHost
	crossOrigin
	groupInUse
	tooManyLeases
	wakeTimeout
	wakeFailed
	tooManyStreams
	stopping
	internalError
)

// problemKinds gives each kind its stable type, its status and its title. It is never
// written to.
var problemKinds = [...]struct {
	urn    string
	status int
	title  string
}{
	unknownPath:      {wire.ProblemUnknownPath, 404, "There is nothing at this path"},
	unknownGroup:     {wire.ProblemUnknownGroup, 404, "Doze does not manage this group"},
	wrongMethod:      {wire.ProblemMethod, 405, "This path does not take this method"},
	badParameter:     {wire.ProblemParameter, 400, "A parameter is wrong"},
	unknownParameter: {wire.ProblemUnknownParameter, 400, "A query parameter is not known"},
	badBody:          {wire.ProblemBody, 400, "The request's body is wrong"},
	bodyTooLarge:     {wire.ProblemBodyTooLarge, 413, "The request's body is too large"},
	wrongMediaType:   {wire.ProblemMediaType, 415, "The request's body is not JSON"},
	unauthenticated:  {wire.ProblemUnauthenticated, 401, "A valid token is needed"},
	forbidden:        {wire.ProblemForbidden, 403, "The token does not allow this"},
	authUnavailable:  {wire.ProblemAuthUnavailable, 503, "The token cannot be checked now"},
	unknownHost:      {wire.ProblemUnknownHost, 421, "This host name is not served here"},
	crossOrigin:      {wire.ProblemCrossOrigin, 403, "Writes from other sites are refused"},
	groupInUse:       {wire.ProblemInUse, 409, "The group is in use"},
	tooManyLeases:    {wire.ProblemTooManyLeases, 409, "The group has too many leases"},
	wakeTimeout:      {wire.ProblemWakeTimeout, 504, "The group was not ready in time"},
	wakeFailed:       {wire.ProblemWakeFailed, 504, "The wake failed"},
	tooManyStreams:   {wire.ProblemBusy, 503, "Too many event streams are open"},
	stopping:         {wire.ProblemStopping, 503, "Doze is stopping"},
	internalError:    {wire.ProblemInternal, 500, "Doze made a mistake"},
}

// problem begins an answer of the given kind; hints say what to do.
func problem(kind problemKind, detail string, hints ...string) *wire.Problem {
	k := problemKinds[kind]
	return &wire.Problem{
		Type: k.urn, Title: k.title, Status: k.status, Detail: detail, Hints: hints,
	}
}

// wrongParameter is the answer to one parameter's wrong value.
func wrongParameter(name, detail string, hints ...string) *wire.Problem {
	p := problem(badParameter, detail, hints...)
	p.Parameter = name
	return p
}

// problemOf is the one place that maps errors to HTTP.
func problemOf(err error) *wire.Problem {
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		return p
	}
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return problem(unauthenticated, err.Error(),
			"send “Authorization: Bearer <token>”, or X-Nomad-Token where Nomad's ACLs decide")
	case errors.Is(err, ErrForbidden):
		return problem(forbidden, err.Error())
	case errors.Is(err, idle.ErrTooManyLeases):
		return problem(tooManyLeases, err.Error(),
			"give one back with DELETE, or take a longer one under its name")
	case errors.Is(err, idle.ErrGone):
		return problem(unknownGroup, err.Error())
	}
	return problem(internalError, "the request could not be carried out; doze's log says why")
}

// writeProblem answers with p.
func writeProblem(w http.ResponseWriter, p *wire.Problem) {
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="doze"`) // RFC 9110, section 11.6.1
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "2")
	}
	writeBody(w, p.Status, "application/problem+json", p)
}

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	writeBody(w, status, "application/json", v)
	return nil
}

// writeBody marshals before it writes, so that what cannot be marshalled is a 500 and not
// half an answer.
func writeBody(w http.ResponseWriter, status int, mediaType string, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // nosniff and the media type keep it from being read as HTML
	if err := enc.Encode(v); err != nil {
		http.Error(w, fmt.Sprintf("cannot encode the answer: %v", err), 500)
		return
	}
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // a client that has gone is told by its context
}
