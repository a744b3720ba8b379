package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"doze/api/wire"
)

// callTimeout bounds a call to an API that does not answer, beyond what the call itself asks
// it to wait.
const callTimeout = 30 * time.Second

// apiClient speaks to the control API of a running `doze serve`.
type apiClient struct {
	address   string
	token     string
	namespace string
	json      bool
	term      terminal
	http      *http.Client
}

// declare adds the flags that every verb of the client has.
func (c *apiClient) declare(s *settings) {
	s.flags.StringVar(&c.address, "address", "http://127.0.0.1:4660",
		"`URL` of the control API of doze serve")
	s.flags.StringVar(&c.token, "token", "",
		"the API's bearer `token`; NOMAD_TOKEN is sent as Nomad's token where this is empty")
	s.flags.StringVar(&c.namespace, "namespace", "",
		"`namespace` of the job; default any, an ambiguous name is refused")
	s.flags.BoolVar(&c.json, "json", false, "print JSON, for programs")
}

// clientVerb returns an action that has a ready client.
func clientVerb(s *settings, do func(context.Context, *apiClient, []string) error) action {
	c := &apiClient{http: &http.Client{}}
	c.declare(s)
	return func(ctx context.Context, term terminal, args []string) error {
		c.term = term
		if err := c.check(); err != nil {
			return err
		}
		return do(ctx, c, args)
	}
}

func (c *apiClient) check() error {
	u, err := url.Parse(c.address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return usagef("address %q: must be a URL such as http://127.0.0.1:4660", c.address)
	}
	c.address = strings.TrimSuffix(c.address, "/")
	return nil
}

// call sends a request and decodes the answer into out; nil drops it. An error answer
// becomes a *wire.Problem where it is one. Without a deadline of ctx's it ends after
// callTimeout.
func (c *apiClient) call(ctx context.Context, method, path string, out any) error {
	if _, bounded := ctx.Deadline(); !bounded {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		ctx = limited
	}
	resp, err := c.do(ctx, method, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 256<<20))
	if err != nil {
		return fmt.Errorf("cannot read the answer of %s: %w", c.address, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s does not answer as doze serve does (%.60q): %w",
			c.address, body, err)
	}
	return nil
}

// do sends a request and returns the answer, whose status is below 400.
func (c *apiClient) do(ctx context.Context, method, path string,
	header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.address+path, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	c.authenticate(req)
	resp, err := c.http.Do(req)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fmt.Errorf("doze serve at %s does not answer: %w", c.address, ctx.Err())
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("cannot reach doze serve at %s: %w; is it running? "+
			"-address or DOZE_ADDRESS names another", c.address, errors.Unwrap(err))
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		return nil, problemOf(resp)
	}
	return resp, nil
}

func (c *apiClient) authenticate(req *http.Request) {
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
		return
	}
	if token, ok := c.term.env("NOMAD_TOKEN"); ok && token != "" {
		req.Header.Set("X-Nomad-Token", token)
	}
}

// problemOf reads an error answer.
func problemOf(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	var problem wire.Problem
	if err := json.Unmarshal(body, &problem); err != nil || problem.Type == "" {
		return fmt.Errorf("%s answers %s; is that doze's control API?",
			resp.Request.URL.Host, resp.Status)
	}
	if len(problem.Hints) == 0 {
		return &problem
	}
	return fmt.Errorf("%w (%s)", &problem, strings.Join(problem.Hints, "; "))
}

// groups lists all groups, those of -namespace where it is given.
func (c *apiClient) groups(ctx context.Context) (wire.GroupList, error) {
	path := wire.GroupsPath
	if c.namespace != "" {
		path += "?namespace=" + url.QueryEscape(c.namespace)
	}
	var list wire.GroupList
	err := c.call(ctx, http.MethodGet, path, &list)
	return list, err
}

// resolve finds the one group that a user means by "job", "job/group" or
// "namespace/job/group".
func (c *apiClient) resolve(ctx context.Context, name string) (wire.ID, error) {
	list, err := c.groups(ctx)
	if err != nil {
		return wire.ID{}, err
	}
	var found []wire.ID
	for _, g := range list.Groups {
		if name == g.ID.String() || name == g.Job+"/"+g.Group || name == g.Job {
			found = append(found, g.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return wire.ID{}, fmt.Errorf("no group is called %q: `doze status` lists them", name)
	}
	var names []string
	for _, id := range found {
		names = append(names, id.String())
	}
	return wire.ID{}, usagef("%q is ambiguous: name one of %s", name, strings.Join(names, ", "))
}

// oneGroup resolves the single argument of a verb.
func (c *apiClient) oneGroup(ctx context.Context, args []string) (wire.ID, error) {
	if len(args) != 1 {
		return wire.ID{}, usagef("name one group: job, job/group or namespace/job/group")
	}
	return c.resolve(ctx, args[0])
}

// print writes a value as JSON.
func (c *apiClient) print(value any) error { return printJSON(c.term.stdout, value) }

func printJSON(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// stream reads server-sent events until ctx ends or the server closes; each is given to
// take by its name, id and data.
func (c *apiClient) stream(ctx context.Context, path, lastID string,
	take func(name, id, data string) error) error {
	header := http.Header{"Accept": {"text/event-stream"}}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	resp, err := c.do(ctx, http.MethodGet, path, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var name, id, data string
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "id":
			id = value
		case "data":
			data += value
		case "":
			if data != "" {
				if err := take(name, id, data); err != nil {
					return err
				}
			}
			name, data = "", ""
		}
	}
	return lines.Err()
}
