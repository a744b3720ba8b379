package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gorilla/websocket"

	"doze/api/wire"
)

// tour tries what the demo shows, as a client on the network would, and tells what took
// how long.
type tour struct {
	idle time.Duration
	term terminal
	gate string // host:port

	cluster *demoCluster
	api     *apiClient
	proxy   *http.Client // dials the gate whatever the host
	started string       // when the frozen app's process was, as it told before it was frozen
}

// tourStep is one thing to try. What it returns is told beside the time it took.
type tourStep struct {
	name string
	do   tourDo
}

type tourDo func(context.Context) (string, error)

func newTour(cfg demoConfig, c *demoCluster, s *stack) *tour {
	t := &tour{idle: cfg.idle, term: c.term, gate: s.gateListener.Addr().String(), cluster: c}
	t.api = &apiClient{address: "http://" + s.apiListener.Addr().String(), term: c.term,
		http: &http.Client{}}
	t.proxy = &http.Client{Transport: &http.Transport{DialContext: t.dial}}
	return t
}

func (t *tour) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", t.gate)
}

// steps are in an order in which the frozen app falls asleep meanwhile.
func (t *tour) steps() []tourStep {
	return []tourStep{
		{"everything is asleep", t.begin},
		{"hello: first request wakes it", t.get("hello")},
		{"hello: next request", t.get("hello")},
		{"slow: held until it is ready", t.get("slow")},
		{"slow: next request", t.get("slow")},
		{"frozen: first request starts it", t.ifFreezes(t.startFrozen)},
		{"echo: 8 MiB upload wakes it", t.upload},
		{"echo: a silent WebSocket outlives the idle time", t.socket},
		{"everything falls asleep again", t.allAsleep},
		{"hello: 100 requests at once, one wake", t.stampede},
		{"frozen: freezes in memory", t.ifFreezes(t.frozen)},
		{"frozen: next request thaws the same process", t.ifFreezes(t.thaw)},
	}
}

// errContested is the error of a first step after which no other can hold.
var errContested = errors.New("a host of the tour's is not its own")

// errLeftOut is the error of a step that can't be taken here, which is no failure.
var errLeftOut = errors.New("left out")

// run takes every step and prints a table, and what was left out of it. Its error says which
// did not hold.
func (t *tour) run(ctx context.Context) error {
	say(t.term.stdout, "A tour through the gate at %s, idle time %s:\n\n", t.gate, t.idle)
	table := tabwriter.NewWriter(t.term.stdout, 0, 0, 2, ' ', 0)
	var failed []error
	var leftOut []string
	for _, step := range t.steps() {
		began := time.Now()
		detail, err := step.do(ctx)
		took := short(time.Since(began))
		switch {
		case ctx.Err() != nil:
			return errors.Join(errors.New("the tour was interrupted"), table.Flush())
		case errors.Is(err, errContested):
			return errors.Join(err, table.Flush())
		case errors.Is(err, errLeftOut):
			leftOut = append(leftOut, step.name)
			took, detail = "-", "LEFT OUT"
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", step.name, err))
			detail = "FAILED: " + err.Error()
		}
		say(table, "  %s\t%s\t%s\n", step.name, took, detail)
	}
	err := table.Flush()
	if len(leftOut) > 0 {
		say(t.term.stdout, "\nLEFT OUT, %d steps (%s): %s\n", len(leftOut),
			strings.Join(leftOut, "; "), t.cluster.note)
	}
	return errors.Join(append(failed, err)...)
}

// begin waits until every group sleeps, and holds that requests to them reach them.
func (t *tour) begin(ctx context.Context) (string, error) {
	detail, err := t.allAsleep(ctx)
	return detail, errors.Join(err, t.contested(ctx))
}

// contested tells what other jobs of the cluster have that the tour's need, a host above all.
func (t *tour) contested(ctx context.Context) error {
	var list wire.DiagnosticList
	if err := t.api.call(ctx, http.MethodGet, wire.DiagnosticsPath, &list); err != nil {
		return err
	}
	var problems []error
	for _, d := range list.Diagnostics {
		for _, app := range demoApps() {
			if d.Job == app.jobID() {
				problems = append(problems, fmt.Errorf("%w: job %s: %s; stop that job, or leave out -nomad",
					errContested, d.Job, d.Problem))
			}
		}
	}
	return errors.Join(problems...)
}

// allAsleep waits until every group of the demo sleeps, at most three idle times.
func (t *tour) allAsleep(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*t.idle+10*time.Second)
	defer cancel()
	changed := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() { // ends with ctx
		ended <- t.api.stream(ctx, wire.EventsPath, "", func(_, _, _ string) error {
			select {
			case changed <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	defer func() { cancel(); <-ended }()
	poll := time.NewTicker(500 * time.Millisecond)
	defer poll.Stop()
	for {
		awake, err := t.awake(ctx)
		if err != nil || len(awake) == 0 {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("still awake: %v", awake)
		case <-changed:
		case <-poll.C:
		}
	}
}

// awake lists the demo's groups that do not sleep, or are not known yet.
func (t *tour) awake(ctx context.Context) ([]string, error) {
	list, err := t.api.groups(ctx)
	if err != nil {
		return nil, err
	}
	states := map[string]wire.State{}
	for _, g := range list.Groups {
		states[g.Job] = g.State
	}
	var awake []string
	for _, app := range demoApps() {
		if states[app.jobID()] != wire.Asleep {
			awake = append(awake, app.name)
		}
	}
	return awake, nil
}

func (t *tour) get(name string) tourDo {
	return func(ctx context.Context) (string, error) {
		header, err := t.ask(ctx, name)
		return header.Get("Server-Timing"), err
	}
}

// ask requests an app's first page, and returns the header of the 200.
func (t *tour) ask(ctx context.Context, name string) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+name+".localhost/", nil)
	if err != nil {
		return nil, err
	}
	header, _, err := t.answer(req)
	return header, err
}

// answer sends a request and returns the header and the body of a 200.
func (t *tour) answer(req *http.Request) (header http.Header, body []byte, err error) {
	resp, err := t.proxy.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		return nil, nil, fmt.Errorf("cannot read the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("answered %s: %.80s", resp.Status, bytes.TrimSpace(body))
	}
	return resp.Header, body, nil
}

func (t *tour) upload(ctx context.Context) (string, error) {
	sent := make([]byte, 8<<20)
	if _, err := rand.Read(sent); err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://echo.localhost/echo",
		bytes.NewReader(sent))
	if err != nil {
		return "", err
	}
	header, got, err := t.answer(req)
	if err == nil && !bytes.Equal(sent, got) {
		err = fmt.Errorf("%d bytes came back, not the %d sent", len(got), len(sent))
	}
	return header.Get("Server-Timing"), err
}

func (t *tour) socket(ctx context.Context) (string, error) {
	dialer := websocket.Dialer{NetDialContext: t.dial}
	conn, _, err := dialer.DialContext(ctx, "ws://echo.localhost/ws", nil)
	if err != nil {
		return "", fmt.Errorf("cannot open a WebSocket: %w", err)
	}
	defer conn.Close()
	select { // silent for longer than the idle time
	case <-time.After(t.idle + 2*time.Second):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := conn.WriteMessage(websocket.TextMessage, []byte("still there?")); err != nil {
		return "", fmt.Errorf("cannot write after the silence: %w", err)
	}
	_, message, err := conn.ReadMessage()
	if err != nil {
		return "", fmt.Errorf("cannot read after the silence: %w", err)
	}
	return fmt.Sprintf("echoed %q after %s of silence", message, short(t.idle+2*time.Second)), nil
}

// stampede sends many requests at once to a sleeping group and counts the wakes.
func (t *tour) stampede(ctx context.Context) (string, error) {
	const many = 100
	before, err := t.wakes(ctx, "hello")
	if err != nil {
		return "", err
	}
	answers := make(chan error, many)
	for range many {
		go func() { // ends with its request, which ends with ctx
			_, err := t.get("hello")(ctx)
			answers <- err
		}()
	}
	var failed []error
	for range many {
		if err := <-answers; err != nil {
			failed = append(failed, err)
		}
	}
	after, err := t.wakes(ctx, "hello")
	switch {
	case len(failed) > 0:
		return "", fmt.Errorf("%d of %d failed: %w", len(failed), many, failed[0])
	case err != nil:
		return "", err
	case after != before+1:
		return "", fmt.Errorf("%d wakes instead of one", after-before)
	}
	return fmt.Sprintf("%d answers, %d wake", many, after-before), nil
}

func (t *tour) wakes(ctx context.Context, name string) (uint64, error) {
	list, err := t.api.groups(ctx)
	if err != nil {
		return 0, err
	}
	for _, g := range list.Groups {
		if g.Job == "doze-demo-"+name {
			return g.Wakes, nil
		}
	}
	return 0, fmt.Errorf("the group of %s is gone", name)
}
