package devnomad_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/devnomad"
)

// bubble runs f with a cluster inside a synctest bubble: no socket, no process,
// virtual time.
func bubble(t *testing.T, cfg devnomad.Config, f func(t *testing.T, c *devnomad.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		cfg.Listener = devnomad.NewPipe()
		cfg.DataDir = t.TempDir()
		if cfg.Runner == nil {
			cfg.Runner = &devnomad.InProcess{}
		}
		c, err := devnomad.Start(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(t, c)
	})
}

// sleepingJob has one group "web" at count 0 with one port.
func sleepingJob(id string) *nomad.Job {
	j := nomad.NewServiceJob(id, id, "global", 50)
	g := nomad.NewTaskGroup("web", 0)
	g.Networks = []*nomad.NetworkResource{{DynamicPorts: []nomad.Port{{Label: "http"}}}}
	g.Update = &nomad.UpdateStrategy{MaxParallel: new(0)}
	g.Tasks = []*nomad.Task{sleeper("app")}
	j.TaskGroups = []*nomad.TaskGroup{g}
	return j
}

func register(t *testing.T, c *devnomad.Cluster, j *nomad.Job) {
	t.Helper()
	if _, _, err := c.Client().Jobs().Register(j, nil); err != nil {
		t.Fatal(err)
	}
}

func scale(t *testing.T, c *devnomad.Cluster, id string, n int) {
	t.Helper()
	if _, _, err := c.Client().Jobs().Scale(id, "web", &n, "", false, nil, nil); err != nil {
		t.Fatal(err)
	}
}

func TestCluster_inBubble_placesAtOnceAndReportsLater(t *testing.T) {
	app := &devnomad.InProcess{Handler: func(spec devnomad.TaskSpec) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, spec.Env["NOMAD_ALLOC_NAME"])
		})
	}, Boot: 100 * time.Millisecond}
	bubble(t, devnomad.Config{Runner: app}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		time.Sleep(time.Second)
		begin := time.Now()
		scale(t, c, "j", 1)
		a := awaitAlloc(t, c, "j", "pending")
		if took := time.Since(begin); took != 7*time.Millisecond {
			t.Errorf("placed after %v, want 7ms", took)
		}
		if got := get(t, app, address(t, c, a)); got != "j.web[0]" {
			t.Errorf("the app answered %q", got)
		}
		awaitAlloc(t, c, "j", "running")
		if took := time.Since(begin); took < 50*time.Millisecond || took > 1100*time.Millisecond {
			t.Errorf("running after %v, want 50ms to 1.1s", took)
		}
		scale(t, c, "j", 0)
		awaitAlloc(t, c, "j", "complete")
		if _, err := app.DialContext(t.Context(), "tcp", address(t, c, a)); !errors.Is(err,
			syscall.ECONNREFUSED) {
			t.Errorf("a stopped app's port answered %v, want a refusal", err)
		}
	})
}

func TestCluster_inBubble_defaultDeploymentBlocksScalingForItsHealthyTime(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		j := sleepingJob("j")
		j.TaskGroups[0].Update = nil
		register(t, c, j)
		time.Sleep(time.Second)
		begin := time.Now()
		scale(t, c, "j", 1)
		time.Sleep(50 * time.Millisecond)
		for n := 0; ; time.Sleep(10 * time.Millisecond) {
			if _, _, err := c.Client().Jobs().Scale("j", "web", &n, "", false, nil, nil); err == nil {
				break
			}
		}
		if took := time.Since(begin); took < 11*time.Second || took > 13*time.Second {
			t.Errorf("blocked for %v, want 11s to 13s", took)
		}
	})
}

func TestCluster_inBubble_progressDeadlineFailsDeployment(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		j := sleepingJob("j")
		j.TaskGroups[0].Count = new(1)
		j.TaskGroups[0].Update = &nomad.UpdateStrategy{HealthCheck: new("checks"),
			ProgressDeadline: new(11 * time.Minute)}
		j.TaskGroups[0].Services = []*nomad.Service{{
			Name: "dead", Provider: "nomad", PortLabel: "http",
			Checks: []nomad.ServiceCheck{{Type: "tcp", Interval: 10 * time.Second, Timeout: time.Second}},
		}}
		register(t, c, j)
		time.Sleep(10 * time.Minute)
		if s := deploymentStatus(t, c); s != "running" {
			t.Fatalf("deployment is %q before its deadline", s)
		}
		time.Sleep(2 * time.Minute)
		if s := deploymentStatus(t, c); s != "failed" {
			t.Fatalf("deployment is %q after its deadline", s)
		}
	})
}

func deploymentStatus(t *testing.T, c *devnomad.Cluster) string {
	t.Helper()
	d, _, err := c.Client().Jobs().LatestDeployment("j", nil)
	if err != nil || d == nil {
		t.Fatal(d, err)
	}
	return d.Status
}

func TestCluster_inBubble_lockLapsesAfterTTLAndDelay(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		vars := c.Client().Variables()
		want := func() *nomad.Variable {
			return &nomad.Variable{Path: "p", Lock: &nomad.VariableLock{TTL: "10s", LockDelay: "5s"}}
		}
		held, _, err := vars.AcquireLock(want(), nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		if _, _, err := vars.RenewLock(held, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second) // lapsed; the delay runs
		if _, _, err := vars.RenewLock(held, nil); err == nil {
			t.Error("a lapsed lock was renewed")
		}
		if _, _, err := vars.AcquireLock(want(), nil); err == nil {
			t.Error("a lock was acquired within the delay")
		}
		time.Sleep(5 * time.Second)
		if _, _, err := vars.AcquireLock(want(), nil); err != nil {
			t.Error("a lapsed lock was not acquired after the delay:", err)
		}
	})
}

func TestCluster_inBubble_manyJobsWakeAtOnceAreIndependent(t *testing.T) {
	bubble(t, devnomad.Config{CPU: 100_000, MemoryMB: 100_000},
		func(t *testing.T, c *devnomad.Cluster) {
			ids := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
			for _, id := range ids {
				register(t, c, sleepingJob(id))
			}
			time.Sleep(time.Second)
			begin := time.Now()
			for _, id := range ids {
				scale(t, c, id, 1)
			}
			for _, id := range ids {
				awaitAlloc(t, c, id, "pending")
			}
			if took := time.Since(begin); took > 20*time.Millisecond {
				t.Errorf("all placed after %v", took)
			}
		})
}

func TestCluster_streamInBubble_beatsAndReplaysAtMostItsBuffer(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		time.Sleep(time.Second)
		for range 60 { // two operations with events each
			scale(t, c, "j", 0)
		}
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		events, err := c.Client().EventStream().Stream(ctx, map[nomad.Topic][]string{"*": {"*"}}, 1,
			nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for drained := false; !drained; {
			synctest.Wait()
			select {
			case <-events:
				n++
			default:
				drained = true
			}
		}
		if n != 100 {
			t.Errorf("%d operations replayed, want the buffer of 100", n)
		}
		cancel()
		for range events { // let the client's goroutine end
		}
	})
}

// awaitAlloc waits for the job's newest allocation to have a status.
func awaitAlloc(t *testing.T, c *devnomad.Cluster, job, status string) *nomad.AllocationListStub {
	t.Helper()
	q := &nomad.QueryOptions{WaitTime: 10 * time.Second}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		as, meta, err := c.Client().Jobs().Allocations(job, false, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(as) > 0 && as[0].ClientStatus == status {
			return as[0]
		}
		q.WaitIndex = max(1, meta.LastIndex) // 0 before the first allocation ever
	}
	t.Fatalf("no allocation of %q became %s", job, status)
	return nil
}

func address(t *testing.T, c *devnomad.Cluster, stub *nomad.AllocationListStub) string {
	t.Helper()
	a, _, err := c.Client().Allocations().Info(stub.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := a.AllocatedResources.Shared.Ports[0]
	return p.HostIP + ":" + itoa(p.Value)
}

// get asks an in-process app, again and again until it listens.
func get(t *testing.T, app *devnomad.InProcess, addr string) string {
	t.Helper()
	tr := &http.Transport{DialContext: app.DialContext, DisableKeepAlives: true}
	for range 100 {
		resp, err := (&http.Client{Transport: tr}).Get("http://" + addr)
		if err != nil {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	t.Fatalf("nobody listens on %s", addr)
	return ""
}

func TestCluster_garbage_isCollectedButASleepingServiceStays(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("kept"))
		batch := sleepingJob("batch")
		batch.Type, batch.TaskGroups[0].Update = new("batch"), nil
		register(t, c, batch)
		scale(t, c, "kept", 1)
		first := awaitAlloc(t, c, "kept", "running")
		scale(t, c, "kept", 0)
		awaitAlloc(t, c, "kept", "complete")
		time.Sleep(5 * time.Hour)
		scale(t, c, "kept", 1)
		second := awaitAlloc(t, c, "kept", "running")
		if _, _, err := c.Client().Allocations().Info(first.ID, nil); err == nil ||
			second.ID == first.ID {
			t.Errorf("the old allocation is still there: %v", err)
		}
		if _, _, err := c.Client().Jobs().Info("batch", nil); err == nil {
			t.Error("a batch job at count 0 is still there after five hours")
		}
	})
}
