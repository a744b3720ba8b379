package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gorilla/mux"

	"doze/api/wire"
	"doze/idle"
)

// call is one request to one endpoint, checked: the caller may make it and everything in it
// is well-formed.
type call struct {
	*http.Request
	id      idle.GroupID
	group   *idle.Group // nil where the path names none
	vars    map[string]string
	args    arguments
	command wire.Command
}

// newRouter builds the router from endpoints.
func (c *control) newRouter() *mux.Router {
	// Job IDs may hold slashes and dots: paths are matched as they came, and not cleaned.
	router := mux.NewRouter().UseEncodedPath().SkipClean(true)
	allowed := map[string]string{} // path template → methods, for Allow
	for _, e := range endpoints() {
		if !c.has(e) {
			continue
		}
		methods := []string{e.method}
		if e.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		router.Methods(methods...).Path(e.path).Handler(c.handler(e))
		for _, m := range methods {
			allowed[e.path] += ", " + m
		}
	}
	for path, methods := range allowed {
		router.Path(path).Handler(refuseMethod(methods[len(", "):]))
	}
	router.NotFoundHandler = http.HandlerFunc(refusePath)
	return router
}

// has says whether e is there to be routed to: health is served before the router, and
// metrics only where somebody collects them.
func (c *control) has(e endpoint) bool {
	return e.serve != nil && (e.path != wire.MetricsPath || c.Metrics != nil)
}

// handler makes the checks of e, in the order in which they tell the least: caller, form,
// existence.
func (c *control) handler(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call, err := c.check(e, w, r)
		if err == nil {
			err = e.serve(c, w, call)
		}
		if err != nil {
			c.fail(w, r, err)
		}
	})
}

func (c *control) check(e endpoint, w http.ResponseWriter, r *http.Request) (*call, error) {
	vars, p := unescape(mux.Vars(r))
	if p != nil {
		return nil, p
	}
	id := idle.GroupID{Namespace: vars["namespace"], Job: vars["job"], Group: vars["group"]}
	call := &call{Request: r, id: id, vars: vars}
	if e.open {
		return call, nil
	}
	if err := c.authorize(r.Context(), r, e.verb, id); err != nil {
		return nil, err
	}
	if call.args, p = parseArguments(r.URL.RawQuery, e.params); p != nil {
		return nil, p
	}
	if call.command, p = readCommand(w, r, e.command); p != nil {
		return nil, p
	}
	if id == (idle.GroupID{}) {
		return call, nil
	}
	if call.group = c.Loop.Group(id); call.group == nil {
		return nil, notManaged(id)
	}
	return call, nil
}

// authorize asks the Authorizer; an error that is not about the caller becomes a 503.
func (c *control) authorize(ctx context.Context, r *http.Request, do Verb, id idle.GroupID) error {
	err := c.Auth.Authorize(ctx, r, do, id)
	if err == nil || errors.Is(err, ErrUnauthenticated) || errors.Is(err, ErrForbidden) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.Log.Warn("cannot tell whether a caller is allowed", "verb", do.String(),
		"group", id.String(), "error", err)
	if errors.Is(err, ErrNoGuard) {
		return problem(authUnavailable, err.Error(), "tell doze's operator: no token helps")
	}
	return problem(authUnavailable, "doze could not find out what this token allows",
		"try again in a moment; doze's log says what is wrong")
}

// unescape decodes the parts of the path.
func unescape(encoded map[string]string) (map[string]string, *wire.Problem) {
	vars := make(map[string]string, len(encoded))
	for name, part := range encoded {
		text, err := url.PathUnescape(part)
		if err != nil {
			return nil, wrongParameter(name, fmt.Sprintf("%q in the path cannot be decoded: %v",
				part, err), "percent-encode every part of the path on its own")
		}
		vars[name] = text
	}
	return vars, nil
}

func notManaged(id idle.GroupID) *wire.Problem {
	return problem(unknownGroup, fmt.Sprintf("no group %q of job %q in namespace %q is managed",
		id.Group, id.Job, id.Namespace),
		"GET "+wire.GroupsPath+" lists the managed groups",
		"GET "+wire.DiagnosticsPath+" says why a group is left alone",
		"a job's ID that holds slashes is written with %2F")
}

func refusePath(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, problem(unknownPath, fmt.Sprintf("nothing is served at %q", r.URL.Path),
		"GET "+wire.OpenAPIPath+" lists every path",
		"every part of a group's path is percent-encoded: a slash within one is %2F"))
}

func refuseMethod(allow string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow) // RFC 9110, section 15.5.6
		writeProblem(w, problem(wrongMethod,
			fmt.Sprintf("%s is not possible here", r.Method), "use "+allow))
	})
}
