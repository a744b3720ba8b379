package devnomad_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/devnomad"
	"doze/internal/realnomad"
	"doze/plugins"
	"doze/plugins/drivers"
)

// The contract suite: every case runs against the embedded cluster and against
// a real agent. The embedded one is right only where both agree.

func TestMain(m *testing.M) {
	if plugins.Launched() {
		err := plugins.Serve(func(hclog.Logger) drivers.Driver { return &refuser{} })
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(embedderVar) != "" {
		if err := embedder(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	// The cases wait for a cluster most of the time, not for a processor.
	if err := flag.Set("test.parallel", "24"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(realnomad.Main(m))
}

// nobody is an ID that nothing has.
const nobody = "00000000-0000-0000-0000-000000000000"

// contractCase is one promise of Nomad's API. Cases are independent: each has
// its own job names, all of them beginning with the case's name.
type contractCase struct {
	name string
	run  func(w *world)
}

var contract = slices.Concat(
	jobCases, scaleCases, policyCases, placementCases, allocCases, streamCases, queryCases,
	deploymentCases, serviceCases, variableCases, aclCases, agentCases,
)

func TestContract_embedded(t *testing.T) {
	c, err := devnomad.Start(devnomad.Config{ACLToken: "5e1f-management-secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	runContract(t, c.Addr(), "5e1f-management-secret")
}

func TestContract_real(t *testing.T) {
	a := realnomad.Shared(t, realnomad.Config{ACL: true})
	runContract(t, a.Addr(), a.Token)
}

func runContract(t *testing.T, addr, token string) {
	t.Run("case", func(t *testing.T) {
		for _, c := range contract {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				w := &world{T: t, name: c.name, addr: addr, token: token}
				w.nomad = w.as(token)
				t.Cleanup(w.clean)
				c.run(w)
			})
		}
	})
}

// world is what a case sees: one cluster, and whom it is.
type world struct {
	*testing.T
	name, addr, token string
	nomad             *nomad.Client
	made              []*nomad.Job
}

// as is a client with another token.
func (w *world) as(token string) *nomad.Client {
	w.Helper()
	c, err := nomad.NewClient(&nomad.Config{Address: w.addr, SecretID: token})
	w.ok(err)
	return c
}

func (w *world) clean() {
	for _, j := range w.made {
		ns := "default"
		if j.Namespace != nil {
			ns = *j.Namespace
		}
		// It may be gone already; that is as good.
		_, _, _ = w.nomad.Jobs().Deregister(*j.ID, true, &nomad.WriteOptions{Namespace: ns})
	}
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) equal(what string, got, want any) {
	w.Helper()
	if !reflect.DeepEqual(got, want) {
		w.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func (w *world) holds(what string, cond bool) {
	w.Helper()
	if !cond {
		w.Fatal(what)
	}
}

// fails checks the status and text that an API error carries.
func (w *world) fails(err error, code int, text string) {
	w.Helper()
	if err == nil {
		w.Fatalf("no error; want %d %q", code, text)
	}
	want := fmt.Sprintf("response code: %d (", code)
	if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), text) {
		w.Fatalf("got error %q, want %d %q", err, code, text)
	}
}

// answer is a raw HTTP answer.
type answer struct {
	code   int
	header http.Header
	body   string
}

func (a answer) decode(w *world, into any) {
	w.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		w.Fatalf("cannot decode %q: %v", a.body, err)
	}
}

// do sends a raw request; body "" sends none.
func (w *world) do(method, path, body string) answer {
	w.Helper()
	return w.doAs(w.token, method, path, body)
}

func (w *world) doAs(token, method, path, body string) answer {
	w.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(w.Context(), method, w.addr+path, r)
	w.ok(err)
	if token != "" {
		req.Header.Set("X-Nomad-Token", token)
	}
	resp, err := http.DefaultClient.Do(req)
	w.ok(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	w.ok(err)
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// refused sends a raw request that must be refused with a text.
func (w *world) refused(method, path, body string, code int, text string) {
	w.Helper()
	a := w.do(method, path, body)
	if a.code != code || !strings.Contains(a.body, text) {
		w.Fatalf("%s %s: got %d %q, want %d %q", method, path, a.code, a.body, code, text)
	}
}

// eventually waits for a condition; the message says what was last seen.
func (w *world) eventually(what string, f func() (seen string, done bool)) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	for {
		seen, done := f()
		if done {
			return
		}
		select {
		case <-ctx.Done():
			w.Fatalf("never: %s; last seen: %s", what, seen)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// job is a service job of one group "web" with one task that sleeps. It is
// small, has no deployments, and may be changed before it is registered.
func (w *world) job(count int, change ...func(*nomad.Job)) *nomad.Job {
	j := nomad.NewServiceJob(w.name, w.name, "global", 50)
	j.Datacenters = []string{"*"}
	g := nomad.NewTaskGroup("web", count)
	g.Tasks = []*nomad.Task{sleeper("main")}
	g.Update = &nomad.UpdateStrategy{MaxParallel: new(0)}
	j.TaskGroups = []*nomad.TaskGroup{g}
	for _, f := range change {
		f(j)
	}
	return j
}

func sleeper(name string) *nomad.Task {
	t := nomad.NewTask(name, "raw_exec")
	t.Config = map[string]any{"command": "/bin/sleep", "args": []any{"600"}}
	t.Resources = &nomad.Resources{CPU: new(20), MemoryMB: new(16)}
	t.KillTimeout = new(time.Second)
	return t
}

// script makes the task run a shell script.
func script(text string) func(*nomad.Job) {
	return func(j *nomad.Job) {
		j.TaskGroups[0].Tasks[0].Config = map[string]any{"command": "/bin/sh",
			"args": []any{"-c", text}}
	}
}

func scaling(lo, hi int64) func(*nomad.Job) {
	return func(j *nomad.Job) {
		j.TaskGroups[0].Scaling = &nomad.ScalingPolicy{Min: &lo, Max: &hi}
	}
}

func withPort(j *nomad.Job) {
	j.TaskGroups[0].Networks = []*nomad.NetworkResource{{DynamicPorts: []nomad.Port{{Label: "http"}}}}
}

func (w *world) register(j *nomad.Job) *nomad.JobRegisterResponse {
	w.Helper()
	w.made = append(w.made, j)
	r, _, err := w.nomad.Jobs().Register(j, nil)
	w.ok(err)
	return r
}

// scale sets the count of the group "web".
func (w *world) scale(job string, n int) *nomad.JobRegisterResponse {
	w.Helper()
	r, err := w.tryScale(job, n)
	w.ok(err)
	return r
}

func (w *world) tryScale(job string, n int) (*nomad.JobRegisterResponse, error) {
	r, _, err := w.nomad.Jobs().Scale(job, "web", &n, "contract", false,
		map[string]any{"case": w.name}, nil)
	return r, err
}

func (w *world) info(job string) *nomad.Job {
	w.Helper()
	j, _, err := w.nomad.Jobs().Info(job, nil)
	w.ok(err)
	return j
}

func (w *world) allocs(job string) []*nomad.AllocationListStub {
	w.Helper()
	as, _, err := w.nomad.Jobs().Allocations(job, true, nil)
	w.ok(err)
	return as
}

// awaitAllocs waits until so many allocations have the client status.
func (w *world) awaitAllocs(job, status string, n int) []*nomad.AllocationListStub {
	w.Helper()
	var out []*nomad.AllocationListStub
	w.eventually(fmt.Sprintf("%d allocations %s", n, status), func() (string, bool) {
		out = nil
		var seen []string
		for _, a := range w.allocs(job) {
			seen = append(seen, a.DesiredStatus+"/"+a.ClientStatus)
			if a.ClientStatus == status {
				out = append(out, a)
			}
		}
		return strings.Join(seen, " "), len(out) == n
	})
	return out
}

// awaitEval waits until an evaluation is no longer pending.
func (w *world) awaitEval(id string) *nomad.Evaluation {
	w.Helper()
	var e *nomad.Evaluation
	w.eventually("evaluation is over", func() (string, bool) {
		var err error
		e, _, err = w.nomad.Evaluations().Info(id, nil)
		w.ok(err)
		return e.Status, e.Status != "pending"
	})
	return e
}

func (w *world) awaitStatus(job, status string) {
	w.Helper()
	w.eventually("job is "+status, func() (string, bool) {
		s := *w.info(job).Status
		return s, s == status
	})
}

// awaitFile waits for a file that a task writes, and returns its text.
func (w *world) awaitFile(path string) (text string) {
	w.Helper()
	w.eventually("the task has written "+filepath.Base(path), func() (string, bool) {
		b, err := os.ReadFile(path)
		text = string(b)
		return text, err == nil && strings.HasSuffix(text, "end\n")
	})
	return text
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
