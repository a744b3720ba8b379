package jobs_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
	"doze/internal/devnomad"
	"doze/jobs"
)

// world is an embedded cluster with a watcher on it and what the watcher told, all inside
// one bubble.
type world struct {
	t       *testing.T
	cluster *devnomad.Cluster
	faults  *devnomad.Faults
	pipe    atomic.Pointer[devnomad.Pipe]
	admin   *nomad.Client // whose calls are not counted
	*calls                // the watcher's
	*told
	watcher *jobs.Watcher
	stop    func() // the watcher
}

// inWorld runs a test in a bubble with a fresh cluster. Tasks do nothing unless cfg says
// otherwise. The watcher is started by watch.
func inWorld(t *testing.T, cfg devnomad.Config, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, stop: func() {}}
		if cfg.Runner == nil {
			cfg.Runner = &devnomad.InProcess{}
		}
		w.begin(cfg)
		defer func() { w.cluster.Close() }()
		defer func() { w.stop() }()
		test(t, w)
	})
}

// watch starts a watcher with a fresh memory; one that runs is stopped. It returns when
// everything that follows by itself is done.
func (w *world) watch(cfg jobs.Config) {
	w.t.Helper()
	w.stop()
	if cfg.Client == nil {
		cfg.Client = w.client("")
	}
	w.told = &told{start: time.Now(), work: map[idle.GroupID]idle.Workload{}}
	var err error
	if w.watcher, err = jobs.NewWatcher(cfg, w.told); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.watcher.Run(ctx); err != nil {
			w.t.Error(err)
		}
	})
	w.stop = func() { cancel(); running.Wait() }
	w.pass(100 * time.Millisecond)
}

// begin starts a cluster, in the place of one that has ended.
func (w *world) begin(cfg devnomad.Config) {
	w.t.Helper()
	pipe := devnomad.NewPipe()
	cfg.Listener, cfg.DataDir = pipe, w.t.TempDir()
	cluster, err := devnomad.Start(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.pipe.Store(pipe)
	w.cluster, w.faults, w.admin = cluster, cluster.Faults(), cluster.Client()
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// client returns a client whose calls are counted.
func (w *world) client(token string) *nomad.Client {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return w.pipe.Load().DialContext(ctx, network, addr)
	}
	w.calls = &calls{next: &http.Transport{DialContext: dial}}
	client, err := nomad.NewClient(&nomad.Config{
		Address: w.cluster.Addr(), SecretID: token, Namespace: "default",
		HttpClient: &http.Client{Transport: w.calls},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

// register registers a job and returns its namespace, ID and first group.
func (w *world) register(job *nomad.Job) idle.GroupID {
	w.t.Helper()
	q := &nomad.WriteOptions{}
	if job.Namespace != nil {
		q.Namespace = *job.Namespace
	}
	if _, _, err := w.admin.Jobs().Register(job, q); err != nil {
		w.t.Fatal(err)
	}
	id := idle.GroupID{Namespace: "default", Job: *job.ID, Group: *job.TaskGroups[0].Name}
	if job.Namespace != nil {
		id.Namespace = *job.Namespace
	}
	return id
}

// namespace makes a namespace.
func (w *world) namespace(name string) {
	w.t.Helper()
	if _, err := w.admin.Namespaces().Register(&nomad.Namespace{Name: name}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// token makes a token that has capabilities in one namespace.
func (w *world) token(namespace string, capabilities ...string) string {
	w.t.Helper()
	rules := fmt.Sprintf("namespace %q { capabilities = [\"%s\"] }", namespace,
		strings.Join(capabilities, `","`))
	policy := &nomad.ACLPolicy{Name: namespace + "-" + capabilities[0], Rules: rules}
	if _, err := w.admin.ACLPolicies().Upsert(policy, nil); err != nil {
		w.t.Fatal(err)
	}
	token, _, err := w.admin.ACLTokens().Create(&nomad.ACLToken{
		Type: "client", Policies: []string{policy.Name},
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return token.SecretID
}

// count returns the group's count in Nomad.
func (w *world) count(id idle.GroupID) int {
	w.t.Helper()
	return w.status(id).Desired
}

func (w *world) status(id idle.GroupID) nomad.TaskGroupScaleStatus {
	w.t.Helper()
	q := &nomad.QueryOptions{Namespace: id.Namespace}
	status, _, err := w.admin.Jobs().ScaleStatus(id.Job, q)
	if err != nil {
		w.t.Fatal(err)
	}
	return status.TaskGroups[id.Group]
}

// scale is what a person does.
func (w *world) scale(id idle.GroupID, count int) {
	w.t.Helper()
	_, _, err := w.admin.Jobs().Scale(id.Job, id.Group, &count, "by hand", false, nil,
		&nomad.WriteOptions{Namespace: id.Namespace})
	if err != nil {
		w.t.Fatal(err)
	}
}

// wake and sleep call the workload that the watcher gave.
func (w *world) wake(id idle.GroupID) error {
	w.t.Helper()
	return w.workload(id).Wake(w.t.Context(), 1)
}

func (w *world) sleep(id idle.GroupID) error {
	w.t.Helper()
	return w.workload(id).Sleep(w.t.Context(), 1, idle.Zero, "idle for 5m0s")
}

// service returns a job with one group "web" that opted in, runs at once and has no
// deployments. Each change is applied to it.
func service(id string, changes ...func(*nomad.Job)) *nomad.Job {
	job := nomad.NewServiceJob(id, id, "global", 50)
	job.Datacenters = []string{"dc1"}
	job.Update = &nomad.UpdateStrategy{MaxParallel: new(0)}
	job.AddTaskGroup(webGroup("web"))
	for _, change := range changes {
		change(job)
	}
	return job
}

func webGroup(name string) *nomad.TaskGroup {
	return &nomad.TaskGroup{
		Name:     &name,
		Networks: []*nomad.NetworkResource{{DynamicPorts: []nomad.Port{{Label: "http"}}}},
		Scaling: &nomad.ScalingPolicy{
			Min: new(int64(0)), Max: new(int64(5)),
			Policy: map[string]any{"doze": []any{map[string]any{}}},
		},
		Tasks: []*nomad.Task{{
			Name: "app", Driver: "raw_exec", Config: map[string]any{"command": "app"},
			Resources: &nomad.Resources{CPU: new(20), MemoryMB: new(20)},
		}},
	}
}

// counted sets the count of the job's first group.
func counted(n int) func(*nomad.Job) {
	return func(j *nomad.Job) { j.TaskGroups[0].Count = &n }
}

// dozing adds settings to the doze block of the job's first group.
func dozing(settings map[string]any) func(*nomad.Job) {
	return func(j *nomad.Job) {
		j.TaskGroups[0].Scaling.Policy["doze"] = []any{settings}
	}
}

// deploying gives the job deployments, as a job has by default.
func deploying(j *nomad.Job) { j.Update = nil }

// calls counts the requests that pass through.
type calls struct {
	next *http.Transport

	mu   sync.Mutex
	seen []string // METHOD /path
	// silent: these requests are answered with status 200 and never anything after it.
	silent func(*http.Request) bool
	late   time.Duration // how long an answer to a PUT takes to arrive
}

func (c *calls) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.seen = append(c.seen, r.Method+" "+r.URL.Path)
	silent := c.silent != nil && c.silent(r)
	late := c.late
	c.mu.Unlock()
	if !silent {
		resp, err := c.next.RoundTrip(r)
		if r.Method == http.MethodPut {
			time.Sleep(late)
		}
		return resp, err
	}
	body, never := io.Pipe()
	context.AfterFunc(r.Context(), func() { never.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
}

// silence sets which requests are never answered beyond their status.
func (c *calls) silence(which func(*http.Request) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = which
}

// delay sets how long the answer to a PUT takes to arrive.
func (c *calls) delay(late time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late = late
}

// took returns how often the request was made.
func (c *calls) took(request string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, seen := range c.seen {
		if seen == request {
			n++
		}
	}
	return n
}

func (c *calls) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}
