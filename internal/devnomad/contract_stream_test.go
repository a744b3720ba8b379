package devnomad_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// stream reads raw lines of the event stream until the case ends.
type stream struct {
	w            *world
	lines        chan string
	token, query string
	last         uint64 // the newest operation seen by until
}

func (w *world) stream(query string) *stream {
	w.Helper()
	return w.streamAs(w.token, query)
}

func (w *world) streamAs(token, query string) *stream {
	w.Helper()
	return w.streamHeader(token, query, "")
}

// streamHeader sends Accept-Encoding, where it is not "" (Go's default: gzip).
func (w *world) streamHeader(token, query, encoding string) *stream {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", w.addr+"/v1/event/stream?"+query, nil)
	w.ok(err)
	req.Header.Set("X-Nomad-Token", token)
	if encoding != "" {
		req.Header.Set("Accept-Encoding", encoding)
	}
	resp, err := http.DefaultClient.Do(req)
	w.ok(err)
	w.equal("status of the stream", resp.StatusCode, http.StatusOK)
	s := &stream{w: w, lines: make(chan string, 1000), token: token, query: query}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.lines)
		defer resp.Body.Close()
		sc := bufio.NewScanner(resp.Body)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			s.lines <- sc.Text()
		}
	}()
	w.Cleanup(func() { cancel(); <-done })
	return s
}

func (s *stream) line() string {
	s.w.Helper()
	select {
	case l := <-s.lines:
		return l
	case <-time.After(20 * time.Second):
		s.w.Fatal("no line from the stream")
		return ""
	}
}

// silent checks a stream that is refused: it is 200 all the same, and ends
// before its first line. For a client that does not accept gzip it ends only
// when the agent happens to collect its garbage: until then nothing comes, not
// even a heartbeat.
func (w *world) silent(token, query string) {
	w.Helper()
	w.streamAs(token, query).ends()
	select {
	case l, open := <-w.streamHeader(token, query, "identity").lines:
		w.holds("the stream is not silent: "+l, !open)
	case <-time.After(300 * time.Millisecond):
	}
}

// ends waits until the stream ends, whatever comes before.
func (s *stream) ends() {
	s.w.Helper()
	after := time.After(20 * time.Second)
	for {
		select {
		case _, open := <-s.lines:
			if !open {
				return
			}
		case <-after:
			s.w.Fatal("the stream has not ended")
		}
	}
}

// saysSoon says whether an operation's events come within two seconds.
func (s *stream) saysSoon(index uint64) bool {
	s.w.Helper()
	after := time.After(2 * time.Second)
	for {
		select {
		case l := <-s.lines:
			var batch struct{ Index uint64 }
			s.w.ok(json.Unmarshal([]byte(l), &batch))
			if batch.Index == index {
				return true
			}
		case <-after:
			return false
		}
	}
}

// seen is an event as the cases compare it.
type seen struct {
	nomad.Event
	Namespace string
}

// until collects the events of the case's job until one is like want:
// "Topic/Type" or "Topic/Type/clientStatus".
func (s *stream) until(want string) (out []seen) {
	s.w.Helper()
	for {
		var batch struct {
			Index  uint64
			Events []seen
		}
		l := s.line()
		if l == "" { // Nomad cuts a reader off that a busy machine has made slow
			again := s.w.streamAs(s.token, fmt.Sprintf("index=%d&%s", s.last+1, s.query))
			s.lines = again.lines
			continue
		}
		s.w.ok(json.Unmarshal([]byte(l), &batch))
		s.last = max(s.last, batch.Index)
		for _, e := range batch.Events {
			s.w.equal("index of the event", e.Index, batch.Index)
			if e.Key != s.w.name && !contains(e.FilterKeys, s.w.name) {
				continue
			}
			out = append(out, e)
			if e.short() == want || e.long() == want {
				return out
			}
		}
	}
}

func (e seen) short() string { return string(e.Topic) + "/" + e.Type }

func (e seen) long() string {
	if a, err := e.Allocation(); err == nil && a != nil {
		return e.short() + "/" + a.ClientStatus
	}
	if v, err := e.Evaluation(); err == nil && v != nil {
		return e.short() + "/" + v.Status
	}
	return e.short()
}

func contains(list []string, s string) bool {
	return slices.Contains(list, s)
}

// shape is the order of events, one operation a line, without the reports of the
// client before the last event.
func shape(events []seen) string {
	var b strings.Builder
	last := uint64(0)
	for i, e := range events {
		if e.short() == "Allocation/AllocationUpdated" && i < len(events)-1 {
			continue // a slow machine reports more often
		}
		if e.Index != last && last != 0 {
			b.WriteByte('\n')
		} else if last != 0 {
			b.WriteByte(' ')
		}
		last = e.Index
		b.WriteString(e.long())
	}
	return b.String()
}

var streamCases = []contractCase{
	{"stream-heartbeat", func(w *world) {
		w.equal("first line", w.stream("topic=Job:none-such").line(), "{}")
	}},
	{"stream-scale-up", func(w *world) {
		w.awaitEval(w.register(w.job(0, withPort)).EvalID)
		s := w.stream(fmt.Sprintf("topic=*&index=%d", *w.info(w.name).ModifyIndex+1))
		s.line()
		w.scale(w.name, 1)
		events := s.until("Allocation/AllocationUpdated/running")
		at := 0
		for i, e := range events {
			if *w.info(w.name).JobModifyIndex == e.Index {
				at = i
				break
			}
		}
		w.equal("events", shape(events[at:]), strings.TrimSpace(`
Job/JobRegistered
Evaluation/EvaluationUpdated/pending Job/EvaluationUpdated
Evaluation/PlanResult/pending Allocation/PlanResult/pending Job/PlanResult
Evaluation/EvaluationUpdated/complete
Allocation/AllocationUpdated/running`))
	}},
	{"stream-scale-up-deployment", func(w *world) {
		w.awaitEval(w.register(w.job(0, rolling(time.Hour))).EvalID)
		s := w.stream(fmt.Sprintf("topic=*&index=%d", *w.info(w.name).ModifyIndex+1))
		s.line()
		w.scale(w.name, 1)
		events := s.until("Allocation/AllocationUpdated/running")
		w.holds("order of the plan:\n"+shape(events), strings.Contains(shape(events),
			"\nEvaluation/PlanResult/pending Deployment/PlanResult "+
				"Allocation/PlanResult/pending Job/PlanResult\n"))
	}},
	{"stream-scale-down", func(w *world) {
		w.register(w.job(1))
		w.awaitAllocs(w.name, "running", 1)
		s := w.stream(fmt.Sprintf("topic=*&index=%d", *w.info(w.name).ModifyIndex+1))
		s.line()
		w.scale(w.name, 0)
		events := s.until("Allocation/AllocationUpdated/complete")
		at := 0
		for i, e := range events {
			if e.short() == "Job/JobRegistered" {
				at = i
			}
		}
		w.equal("events", shape(events[at:]), strings.TrimSpace(`
Job/JobRegistered
Evaluation/EvaluationUpdated/pending
Evaluation/PlanResult/pending Allocation/PlanResult/running Job/PlanResult
Evaluation/EvaluationUpdated/complete Job/EvaluationUpdated
Allocation/AllocationUpdated/complete`))
	}},
	{"stream-register-and-purge", func(w *world) {
		s := w.stream("topic=Job:" + w.name + "&topic=Evaluation:" + w.name)
		s.line()
		w.register(w.job(0))
		first := s.until("Job/EvaluationUpdated")
		w.equal("registration", shape(first), strings.TrimSpace(`
Job/JobRegistered Evaluation/JobRegistered/pending
Evaluation/EvaluationUpdated/complete Job/EvaluationUpdated`))
		j, err := first[0].Job()
		w.ok(err)
		w.equal("status", *j.Status, "pending")
		w.equal("namespace", first[0].Namespace, "default")
		_, _, err = w.nomad.Jobs().Deregister(w.name, false, nil)
		w.ok(err)
		gone, deleted, err := last(s.until("Job/JobDeregistered")).DeregisteredJob()
		w.ok(err)
		w.equal("deleted by a stop", deleted, false)
		w.equal("stop", *gone.Stop, true)
		_, _, err = w.nomad.Jobs().Deregister(w.name, true, nil)
		w.ok(err)
		for !deleted { // the stop tells of the job twice
			_, deleted, err = last(s.until("Job/JobDeregistered")).DeregisteredJob()
			w.ok(err)
		}
	}},
	{"stream-allocation-payload", func(w *world) {
		s := w.stream("topic=Allocation:" + w.name)
		s.line()
		w.register(w.job(1, withPort))
		e := last(s.until("Allocation/PlanResult"))
		a, err := e.Allocation()
		w.ok(err)
		w.holds("no job", a.Job == nil)
		w.equal("key", e.Key, a.ID)
		w.equal("filter keys", e.FilterKeys, []string{w.name, ""})
		w.equal("client status", a.ClientStatus, "pending")
		w.equal("desired status", a.DesiredStatus, "run")
		p := a.AllocatedResources.Shared.Ports
		w.holds("the port", len(p) == 1 && p[0].Label == "http" && p[0].Value > 0 &&
			p[0].HostIP == "127.0.0.1")
		w.equal("index", a.ModifyIndex, e.Index)
		a, err = last(s.until("Allocation/AllocationUpdated/running")).Allocation()
		w.ok(err)
		w.equal("task state", a.TaskStates["main"].State, "running")
		w.equal("resources", len(a.AllocatedResources.Shared.Ports), 1)
	}},
	{"stream-topic-and-namespace", func(w *world) {
		s := w.stream("topic=Allocation:" + w.name + "&topic=Service&namespace=*")
		s.line()
		w.register(w.job(1))
		for _, e := range s.until("Allocation/AllocationUpdated/running") {
			w.equal("topic", e.Topic, nomad.TopicAllocation)
		}
		other := w.stream("topic=Job:" + w.name + "&namespace=other-namespace")
		other.line()
		w.scale(w.name, 0)
		s.until("Allocation/AllocationUpdated/complete")
		select {
		case l := <-other.lines:
			w.Fatalf("an event of another namespace: %s", l)
		default:
		}
	}},
	{"stream-replay", func(w *world) {
		for n := 0; ; n++ {
			r := w.register(w.job(0, func(j *nomad.Job) { j.Meta = map[string]string{"n": fmt.Sprint(n)} }))
			from := w.stream(fmt.Sprintf("topic=Job:%s&index=%d", w.name, r.JobModifyIndex))
			all := w.stream("topic=Job:" + w.name)
			// The buffer holds 100 operations, which other cases may fill meanwhile.
			if from.saysSoon(r.JobModifyIndex) && all.saysSoon(r.JobModifyIndex) {
				return
			}
			w.holds("no replay from an index on, that included, nor from the beginning", n < 20)
		}
	}},
	{"stream-past-the-end", func(w *world) {
		w.awaitEval(w.register(w.job(0)).EvalID)
		s := w.stream("topic=*&namespace=*&index=100000000")
		s.line()
		var batch struct{ Index uint64 }
		w.ok(json.Unmarshal([]byte(s.line()), &batch))
		w.holds("the newest operation, once more", batch.Index > 0 && batch.Index < 100000000)
	}},
	{"stream-bad-request", func(w *world) {
		w.refused("GET", "/v1/event/stream?index=x", "", 400, "Unable to parse index: strconv.Atoi")
		w.refused("GET", "/v1/event/stream?topic=a:b:c", "", 400, "Invalid topic query")
		w.refused("PUT", "/v1/event/stream", "", 405, "Invalid method")
	}},
	{"stream-evaluation-failure", func(w *world) {
		s := w.stream("topic=Evaluation:" + w.name)
		s.line()
		w.register(w.job(1, func(j *nomad.Job) { j.TaskGroups[0].Tasks[0].Driver = "steam" }))
		v, err := last(s.until("Evaluation/EvaluationUpdated/complete")).Evaluation()
		w.ok(err)
		w.holds("the failed group", v.FailedTGAllocs["web"] != nil && v.BlockedEval != "")
	}},
}

func last(events []seen) *seen { return &events[len(events)-1] }

var queryCases = []contractCase{
	{"query-job-wakes", func(w *world) {
		w.awaitEval(w.register(w.job(0)).EvalID)
		j, meta, err := w.nomad.Jobs().Info(w.name, nil)
		w.ok(err)
		w.equal("index", meta.LastIndex, *j.ModifyIndex)
		type result struct {
			j    *nomad.Job
			took time.Duration
			err  error
		}
		done := make(chan result, 1)
		begin := time.Now()
		go func() {
			j, _, err := w.nomad.Jobs().Info(w.name, &nomad.QueryOptions{WaitIndex: meta.LastIndex,
				WaitTime: 20 * time.Second})
			done <- result{j, time.Since(begin), err}
		}()
		time.Sleep(300 * time.Millisecond)
		r := w.scale(w.name, 1)
		got := <-done
		w.ok(got.err)
		w.equal("index of the change", *got.j.JobModifyIndex, r.JobModifyIndex)
		w.holds("it waited", got.took >= 300*time.Millisecond && got.took < 10*time.Second)
	}},
	{"query-times-out", func(w *world) {
		w.awaitEval(w.register(w.job(0)).EvalID)
		begin := time.Now()
		a := w.do("GET", fmt.Sprintf("/v1/job/%s?index=%d&wait=300ms", w.name,
			*w.info(w.name).ModifyIndex), "")
		w.equal("status", a.code, http.StatusOK)
		took := time.Since(begin)
		w.holds("it waited "+took.String(), took >= 300*time.Millisecond && took < 5*time.Second)
		w.equal("index", a.header.Get("X-Nomad-Index"), fmt.Sprint(*w.info(w.name).ModifyIndex))
	}},
	{"query-old-index", func(w *world) {
		w.awaitEval(w.register(w.job(0)).EvalID)
		begin := time.Now()
		w.do("GET", fmt.Sprintf("/v1/job/%s?index=%d&wait=20s", w.name, *w.info(w.name).ModifyIndex-1),
			"")
		w.holds("at once", time.Since(begin) < 5*time.Second)
	}},
	{"query-job-appears", func(w *world) {
		a := w.do("GET", "/v1/job/"+w.name, "")
		w.equal("status", a.code, 404)
		done := make(chan answer, 1)
		go func() {
			// The table's index: any job's change may end the wait, as a 404 then.
			for {
				a := w.do("GET", "/v1/job/"+w.name+"?wait=20s&index="+a.header.Get("X-Nomad-Index"), "")
				if a.code != 404 {
					done <- a
					return
				}
			}
		}()
		w.register(w.job(0))
		w.equal("status", (<-done).code, http.StatusOK)
	}},
	{"query-allocations-wake", func(w *world) {
		w.register(w.job(0))
		_, meta, err := w.nomad.Jobs().Allocations(w.name, false, nil)
		w.ok(err)
		w.scale(w.name, 1)
		for index := meta.LastIndex; ; {
			as, meta, err := w.nomad.Jobs().Allocations(w.name, false,
				&nomad.QueryOptions{WaitIndex: index, WaitTime: 20 * time.Second})
			w.ok(err)
			w.holds("the index has grown", meta.LastIndex > index)
			if len(as) == 1 {
				w.equal("status when first seen", as[0].ClientStatus, "pending")
				return
			}
			index = meta.LastIndex
		}
	}},
	{"query-list-index", func(w *world) {
		w.awaitEval(w.register(w.job(1)).EvalID)
		_, before, err := w.nomad.Jobs().List(nil)
		w.ok(err)
		w.scale(w.name, 0)
		_, after, err := w.nomad.Jobs().List(&nomad.QueryOptions{WaitIndex: before.LastIndex,
			WaitTime: 20 * time.Second})
		w.ok(err)
		w.holds("the index has grown", after.LastIndex > before.LastIndex)
	}},
	{"query-bad-request", func(w *world) {
		w.refused("GET", "/v1/jobs?wait=soon", "", 400, "Invalid wait time")
		w.refused("GET", "/v1/jobs?index=x", "", 400, "Invalid index")
	}},
	{"query-scale-status-wakes", func(w *world) {
		w.awaitEval(w.register(w.job(0)).EvalID)
		_, meta, err := w.nomad.Jobs().ScaleStatus(w.name, nil)
		w.ok(err)
		done := make(chan error, 1)
		go func() {
			_, after, err := w.nomad.Jobs().ScaleStatus(w.name,
				&nomad.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: 20 * time.Second})
			if err == nil && after.LastIndex <= meta.LastIndex {
				err = fmt.Errorf("index %d after %d", after.LastIndex, meta.LastIndex)
			}
			done <- err
		}()
		time.Sleep(100 * time.Millisecond)
		w.scale(w.name, 0)
		w.ok(<-done)
	}},
}
