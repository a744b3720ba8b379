package api

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"doze/api/wire"
)

// parameterKind says how a query parameter's value is read.
type parameterKind uint8

const (
	textKind parameterKind = iota
	durationKind
	flagKind
	stateKind // may be given more than once
)

// parameter is one query parameter that an endpoint knows.
type parameter struct {
	name    string
	kind    parameterKind
	example string
	most    time.Duration // of a duration
	doc     string
}

const (
	maxWait      = 10 * time.Minute
	maxLease     = 30 * 24 * time.Hour
	defaultLease = time.Hour
)

// The parameters of the API; never written to.
var (
	namespaceParam = parameter{name: "namespace", example: "default",
		doc: "Only groups of this namespace; * or left out: of every one."}
	jobParam   = parameter{name: "job", example: "web", doc: "Only groups of this job."}
	groupParam = parameter{name: "group", example: "web", doc: "Only groups of this name."}
	stateParam = parameter{name: "state", kind: stateKind, example: "ready",
		doc: "Only groups in this state; for events: transitions to it. May be repeated."}
	waitParam = parameter{name: "wait", kind: durationKind, example: "30s", most: maxWait,
		doc: "Answer only when the group is ready, or when this much time has passed."}
	forceParam = parameter{name: "force", kind: flagKind, example: "true",
		doc: "Sleep even though requests are in flight (they are cut) or leases are out " +
			"(they end)."}
	forParam = parameter{name: "for", kind: durationKind, example: "2h", most: maxLease,
		doc: "How long the lease lasts from now; left out: " + defaultLease.String() + "."}
)

// arguments are the query parameters of one request, read.
type arguments struct {
	text      map[string]string
	durations map[string]time.Duration
	flags     map[string]bool
	states    []wire.State
}

// parseArguments reads a query strictly: what is not known is refused, not ignored, since a
// misspelt filter or limit would otherwise do something else than was meant.
func parseArguments(query string, known []parameter) (arguments, *wire.Problem) {
	a := arguments{
		text:      map[string]string{},
		durations: map[string]time.Duration{},
		flags:     map[string]bool{},
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return a, problem(badParameter, fmt.Sprintf("the query %q cannot be read: %v", query, err),
			"percent-encode special characters; separate parameters by &")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(known, func(p parameter) bool { return p.name == name })
		if i < 0 {
			return a, notKnown(name, known)
		}
		if p := a.read(known[i], values[name]); p != nil {
			return a, p
		}
	}
	return a, nil
}

// read stores the values of one parameter.
func (a *arguments) read(k parameter, values []string) *wire.Problem {
	if k.kind == stateKind {
		return a.readStates(k, values)
	}
	if len(values) > 1 {
		return wrongParameter(k.name, fmt.Sprintf("%s is given %d times", k.name, len(values)),
			"give it once")
	}
	value := values[0]
	var problem *wire.Problem
	switch k.kind {
	case durationKind:
		a.durations[k.name], problem = parseDuration(k, value)
	case flagKind:
		a.flags[k.name], problem = parseFlag(k, value)
	default:
		a.text[k.name] = value
	}
	return problem
}

func (a *arguments) readStates(k parameter, values []string) *wire.Problem {
	for _, value := range values {
		if !slices.Contains(wire.States(), wire.State(value)) {
			return wrongParameter(k.name, fmt.Sprintf("%q is not a state", value),
				"use one of: "+joinWords(wire.States()))
		}
		a.states = append(a.states, wire.State(value))
	}
	return nil
}

func parseDuration(k parameter, value string) (time.Duration, *wire.Problem) {
	d, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return 0, wrongParameter(k.name, fmt.Sprintf("%q is not a duration", value),
			"write a number with a unit, e.g. "+k.example+"; units are ms, s, m and h")
	case d <= 0:
		return 0, wrongParameter(k.name, fmt.Sprintf("%s is not above zero", value),
			"e.g. "+k.example)
	case d > k.most:
		return 0, wrongParameter(k.name, fmt.Sprintf("%s is longer than %s", value, k.most),
			"ask for "+k.most.String()+" at the most")
	}
	return d, nil
}

func parseFlag(k parameter, value string) (bool, *wire.Problem) {
	flag, err := strconv.ParseBool(value)
	if err != nil {
		return false, wrongParameter(k.name, fmt.Sprintf("%q is neither true nor false", value),
			"write "+k.name+"=true, or leave it out")
	}
	return flag, nil
}

// notKnown is the answer to a parameter that the endpoint does not have.
func notKnown(name string, known []parameter) *wire.Problem {
	hint := "this path takes no query parameters"
	if len(known) > 0 {
		names := make([]string, len(known))
		for i, k := range known {
			names[i] = k.name
		}
		hint = "this path knows: " + joinWords(names)
	}
	p := problem(unknownParameter, fmt.Sprintf("there is no query parameter %q here", name), hint)
	p.Parameter = name
	return p
}

// matches says whether a group passes the filters. States are the caller's to compare.
func (a arguments) matches(id wire.ID) bool {
	return a.matchesText("namespace", id.Namespace) &&
		a.matchesText("job", id.Job) && a.matchesText("group", id.Group)
}

func (a arguments) matchesText(name, value string) bool {
	want, given := a.text[name]
	return !given || want == value || name == "namespace" && want == "*"
}

func (a arguments) matchesState(s wire.State) bool {
	return len(a.states) == 0 || slices.Contains(a.states, s)
}

// joinWords lists words for a hint.
func joinWords[S ~string](words []S) string {
	text := make([]string, len(words))
	for i, w := range words {
		text[i] = string(w)
	}
	return strings.Join(text, ", ")
}
