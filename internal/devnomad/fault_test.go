package devnomad_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/devnomad"
)

func itoa(n int) string { return strconv.Itoa(n) }

func tryScale(c *devnomad.Cluster, n int) error {
	_, _, err := c.Client().Jobs().Scale("j", "web", &n, "", false, nil, nil)
	return err
}

func TestFaults_injected_refusesSoManyRequestsAfterSoMany(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		fault := devnomad.ActiveDeployment()
		fault.After, fault.Times = 1, 2
		c.Faults().Inject(fault)
		var got []string
		for range 4 {
			got = append(got, outcome(tryScale(c, 0)))
		}
		const blocked = "400 job scaling blocked due to active deployment"
		if want := []string{"ok", blocked, blocked, "ok"}; strings.Join(got, ",") != strings.Join(want,
			",") {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// outcome shortens an API error to its status and text.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	s := strings.TrimPrefix(err.Error(), "Unexpected response code: ")
	return strings.NewReplacer(" (", " ", ")", "").Replace(s)
}

func TestFaults_presets_answerAsWhatTheyImitate(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		for want, fault := range map[string]devnomad.Fault{
			"403 Permission denied": devnomad.Forbidden("/v1/job/j"),
			"429 Too Many Requests": devnomad.TooMany("/v1/job/*"),
			"500 something broke":   {Path: "/v1/job/j", Status: 500, Body: "something broke"},
			"invalid character '<'": devnomad.HTML(),
			"EOF":                   {Path: "/v1/job/j", Cut: true},
		} {
			remove := c.Faults().Inject(fault)
			_, _, err := c.Client().Jobs().Info("j", nil)
			if err == nil || !strings.Contains(outcome(err), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			remove()
		}
		if _, _, err := c.Client().Jobs().Info("j", nil); err != nil {
			t.Errorf("still broken after the faults were removed: %v", err)
		}
	})
}

func TestFaults_answerLost_writeHasTakenEffect(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		c.Faults().Inject(devnomad.Fault{Method: "PUT", Path: "/v1/job/j/scale", Times: 1, Cut: true,
			Act: true})
		if err := tryScale(c, 1); err == nil {
			t.Fatal("the answer was not lost")
		}
		j, _, err := c.Client().Jobs().Info("j", nil)
		if err != nil || *j.TaskGroups[0].Count != 1 {
			t.Errorf("count %d, error %v; want the lost call's count", *j.TaskGroups[0].Count, err)
		}
	})
}

func TestFaults_hang_lastsUntilRemovedOrClientLeaves(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		remove := c.Faults().Inject(devnomad.Fault{Path: "/v1/job/j", Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err := c.Client().Jobs().Info("j", (&nomad.QueryOptions{}).WithContext(ctx))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the client's deadline", err)
		}
		begin := time.Now()
		time.AfterFunc(time.Hour, remove)
		if _, _, err := c.Client().Jobs().Info("j", nil); err != nil || time.Since(begin) != time.Hour {
			t.Errorf("got %v after %v, want an answer after an hour", err, time.Since(begin))
		}
	})
}

func TestFaults_delays_slowEachStep(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		time.Sleep(time.Second)
		c.Faults().SetDelay(devnomad.StepPlacement, 3*time.Second)
		c.Faults().SetDelay(devnomad.StepStatus, 20*time.Second)
		begin := time.Now()
		scale(t, c, "j", 1)
		awaitAlloc(t, c, "j", "pending")
		if took := time.Since(begin); took != 3007*time.Millisecond {
			t.Errorf("placed after %v", took)
		}
		awaitAlloc(t, c, "j", "running")
		if took := time.Since(begin); took < 23*time.Second || took > 25*time.Second {
			t.Errorf("running after %v", took)
		}
	})
}

// follow collects what a stream says about allocations, as "type/status".
func follow(t *testing.T, c *devnomad.Cluster) (seen func() string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	events, err := c.Client().EventStream().Stream(ctx,
		map[nomad.Topic][]string{nomad.TopicAllocation: {"*"}}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for batch := range events {
			if batch.Err != nil && ctx.Err() == nil {
				got = append(got, batch.Err.Error())
			}
			for _, e := range batch.Events {
				a, err := e.Allocation()
				if err == nil {
					got = append(got, e.Type+"/"+a.ClientStatus)
				}
			}
		}
	}()
	stop = func() { cancel(); <-done }
	return func() string { stop(); return strings.Join(got, " ") }, stop
}

func TestFaults_events_areLostAndDuplicated(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		seen, stop := follow(t, c)
		defer stop()
		c.Faults().LoseEvents(func(_, kind string) bool { return kind == "PlanResult" })
		c.Faults().DuplicateEvents(func(_, kind string) bool { return kind == "AllocationUpdated" })
		scale(t, c, "j", 1)
		time.Sleep(2 * time.Second)
		if got := seen(); got != "AllocationUpdated/running AllocationUpdated/running" {
			t.Errorf("got %q", got)
		}
	})
}

func TestFaults_streams_endOrFallSilent(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		silent, stop := follow(t, c)
		defer stop()
		time.Sleep(time.Second)
		c.Faults().SilenceStreams()
		ended, stop := follow(t, c)
		defer stop()
		time.Sleep(time.Second)
		scale(t, c, "j", 1)
		time.Sleep(100 * time.Millisecond)
		c.Faults().EndStreams()
		time.Sleep(time.Hour)
		if got := silent(); got != "" && got != "EOF" {
			t.Errorf("a silent stream said %q", got)
		}
		if got := ended(); !strings.HasSuffix(got, "EOF") ||
			!strings.HasPrefix(got, "PlanResult/pending") {
			t.Errorf("a stream that was ended said %q", got)
		}
	})
}

func TestFaults_leaderLost_everythingFailsUntilItIsBack(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		c.Faults().LoseLeader(true)
		if got := outcome(tryScale(c, 1)); got != "500 No cluster leader" {
			t.Errorf("got %q", got)
		}
		c.Faults().LoseLeader(false)
		if err := tryScale(c, 1); err != nil {
			t.Error(err)
		}
	})
}

func TestFaults_outageOfPipe_dropsConnectionsAndComesBack(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		seen, stop := follow(t, c)
		defer stop()
		time.Sleep(time.Second)
		if err := c.Faults().Outage(true); err != nil {
			t.Fatal(err)
		}
		if err := tryScale(c, 1); err == nil {
			t.Error("a request was served during the outage")
		}
		if err := c.Faults().Outage(false); err != nil {
			t.Fatal(err)
		}
		if err := tryScale(c, 1); err != nil {
			t.Error(err)
		}
		if got := seen(); !strings.Contains(got, "EOF") {
			t.Errorf("the stream said %q, want its end", got)
		}
	})
}

func TestFaults_outageOfSocket_refusesConnections(t *testing.T) {
	c, err := devnomad.Start(devnomad.Config{Runner: &devnomad.InProcess{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Faults().Outage(true); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client().Status().Leader(); err == nil ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v, want a refused connection", err)
	}
	if err := c.Faults().Outage(false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client().Status().Leader(); err != nil {
		t.Error(err)
	}
}

func TestFaults_clockStep_showsInTimeStamps(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("j"))
		c.Faults().StepClock(-24 * time.Hour)
		scale(t, c, "j", 0)
		j, _, err := c.Client().Jobs().Info("j", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Until(time.Unix(0, *j.SubmitTime)); got != -24*time.Hour {
			t.Errorf("submitted %v from now, want a day ago", got)
		}
	})
}

func TestFaults_glob_matchesSlashes(t *testing.T) {
	bubble(t, devnomad.Config{}, func(t *testing.T, c *devnomad.Cluster) {
		register(t, c, sleepingJob("a/b"))
		c.Faults().Inject(devnomad.Fault{Path: "/v1/job/*/scale", Status: http.StatusTeapot,
			Body: "tea"})
		resp, err := c.HTTPClient().Get(c.Addr() + "/v1/job/a%2Fb/scale")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "tea" {
			t.Errorf("got %q, %v", body, err)
		}
	})
}
