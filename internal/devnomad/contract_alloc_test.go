package devnomad_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

var placementCases = []contractCase{
	{"place-ports", func(w *world) {
		w.register(w.job(2, withPort))
		stubs := w.awaitAllocs(w.name, "running", 2)
		seen := map[int]bool{}
		for _, s := range stubs {
			a, _, err := w.nomad.Allocations().Info(s.ID, nil)
			w.ok(err)
			w.equal("ports", len(a.AllocatedResources.Shared.Ports), 1)
			p := a.AllocatedResources.Shared.Ports[0]
			w.equal("label", p.Label, "http")
			w.equal("host", p.HostIP, "127.0.0.1")
			w.holds("a dynamic port", p.Value >= 20000 && p.Value <= 32000 && !seen[p.Value])
			seen[p.Value] = true
			w.equal("network", a.AllocatedResources.Shared.Networks[0].DynamicPorts[0].Value, p.Value)
			w.equal("task CPU", a.AllocatedResources.Tasks["main"].Cpu.CpuShares, int64(20))
			w.equal("task memory", a.AllocatedResources.Tasks["main"].Memory.MemoryMB, int64(16))
		}
	}},
	{"place-without-logs", func(w *world) {
		out := filepath.Join(w.TempDir(), "out")
		w.register(w.job(1, func(j *nomad.Job) {
			t := j.TaskGroups[0].Tasks[0]
			t.LogConfig = &nomad.LogConfig{Disabled: new(true)}
			t.Env = map[string]string{"OUT": out}
			t.Config = map[string]any{"command": "/bin/sh", "args": []any{"-c",
				`echo said; echo end > "$OUT"; exec sleep 600`}}
		}))
		a := w.awaitAllocs(w.name, "running", 1)[0]
		w.awaitFile(out)
		var log string
		_, err := w.nomad.Raw().Query("/v1/client/fs/logs/"+a.ID+"?task=main&type=stdout&plain=true",
			&log, nil)
		w.holds(fmt.Sprint("there is no log: ", err),
			err != nil && strings.Contains(err.Error(), "404") && strings.Contains(err.Error(), "not found"))
	}},
	{"place-environment", func(w *world) {
		out := filepath.Join(w.TempDir(), "env")
		w.register(w.job(1, withPort, func(j *nomad.Job) {
			j.Meta = map[string]string{"team": "red"}
			t := j.TaskGroups[0].Tasks[0]
			t.Env = map[string]string{"OUT": out, "WHERE": "port ${NOMAD_PORT_http}"}
			t.Config = map[string]any{"command": "/bin/sh", "args": []any{"-c",
				`{ env; echo "ARG=$1"; echo "CWD=$PWD"; echo end; } > "$OUT.tmp"
				mv "$OUT.tmp" "$OUT"; exec sleep 600`,
				"sh", "${NOMAD_ADDR_http} ${NOMAD_TASK_NAME} ${node.datacenter} ${NOMAD_META_team}"}}
		}))
		a := w.awaitAllocs(w.name, "running", 1)[0]
		full, _, err := w.nomad.Allocations().Info(a.ID, nil)
		w.ok(err)
		port := strconv.Itoa(full.AllocatedResources.Shared.Ports[0].Value)
		env := map[string]string{}
		for line := range strings.Lines(w.awaitFile(out)) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
			env[k] = v
		}
		for k, want := range map[string]string{
			"NOMAD_ALLOC_ID": a.ID, "NOMAD_SHORT_ALLOC_ID": a.ID[:8], "NOMAD_ALLOC_NAME": a.Name,
			"NOMAD_ALLOC_INDEX": "0", "NOMAD_TASK_NAME": "main", "NOMAD_GROUP_NAME": "web",
			"NOMAD_JOB_ID": w.name, "NOMAD_JOB_NAME": w.name, "NOMAD_NAMESPACE": "default",
			"NOMAD_REGION": "global", "NOMAD_DC": "dc1", "NOMAD_CPU_LIMIT": "20",
			"NOMAD_MEMORY_LIMIT": "16",
			"NOMAD_PORT_http":    port, "NOMAD_HOST_PORT_http": port, "NOMAD_IP_http": "127.0.0.1",
			"NOMAD_ADDR_http": "127.0.0.1:" + port, "NOMAD_META_team": "red", "NOMAD_META_TEAM": "red",
			"WHERE": "port " + port, "ARG": "127.0.0.1:" + port + " main dc1 red",
		} {
			w.equal(k, env[k], want)
		}
		for k, suffix := range map[string]string{
			"NOMAD_ALLOC_DIR": a.ID + "/alloc", "NOMAD_TASK_DIR": a.ID + "/main/local",
			"NOMAD_SECRETS_DIR": a.ID + "/main/secrets", "CWD": a.ID + "/main",
		} {
			w.holds(k+" is "+env[k], strings.HasSuffix(env[k], suffix))
		}
	}},
	{"place-too-big", func(w *world) {
		r := w.register(w.job(2, func(j *nomad.Job) {
			j.TaskGroups[0].Tasks[0].Resources.MemoryMB = new(900_000_000)
		}))
		e := w.awaitEval(r.EvalID)
		w.equal("status", e.Status, "complete")
		m := e.FailedTGAllocs["web"]
		w.holds("a failed group", m != nil)
		w.equal("exhausted", m.NodesExhausted, 1)
		w.equal("dimension", m.DimensionExhausted, map[string]int{"memory": 1})
		w.equal("coalesced", m.CoalescedFailures, 1)
		w.equal("nodes in the datacenter", m.NodesAvailable["dc1"], 1)
		w.equal("queued", e.QueuedAllocations["web"], 2)
		b := w.awaitEval(e.BlockedEval)
		w.equal("blocked status", b.Status, "blocked")
		w.equal("blocked trigger", b.TriggeredBy, "queued-allocs")
		w.equal("blocked description", b.StatusDescription, "created to place remaining allocations")
		w.equal("blocked previous", b.PreviousEval, e.ID)
		w.equal("job", *w.info(w.name).Status, "pending")
		w.equal("allocations", len(w.allocs(w.name)), 0)
		w.scale(w.name, 0)
		w.eventually("blocked evaluation is over", func() (string, bool) {
			b, _, err := w.nomad.Evaluations().Info(e.BlockedEval, nil)
			w.ok(err)
			// Another case may have freed something and so had it tried again.
			return b.Status, b.Status == "canceled" || b.Status == "complete"
		})
		w.awaitStatus(w.name, "dead")
	}},
	{"place-too-big-cpu", func(w *world) {
		r := w.register(w.job(1,
			func(j *nomad.Job) { j.TaskGroups[0].Tasks[0].Resources.CPU = new(90_000_000) }))
		w.equal("dimension", w.failedGroup(r.EvalID).DimensionExhausted, map[string]int{"cpu": 1})
	}},
	{"place-unknown-driver", func(w *world) {
		r := w.register(w.job(1, func(j *nomad.Job) { j.TaskGroups[0].Tasks[0].Driver = "steam" }))
		m := w.failedGroup(r.EvalID)
		w.equal("filtered", m.NodesFiltered, 1)
		w.equal("constraint", m.ConstraintFiltered, map[string]int{"missing drivers": 1})
	}},
	{"place-constraint", func(w *world) {
		r := w.register(w.job(1, func(j *nomad.Job) {
			j.Constraints = []*nomad.Constraint{nomad.NewConstraint("${attr.kernel.name}", "=", "plan9")}
		}))
		m := w.failedGroup(r.EvalID)
		w.equal("constraint", m.ConstraintFiltered, map[string]int{"${attr.kernel.name} = plan9": 1})
	}},
	{"place-datacenter", func(w *world) {
		r := w.register(w.job(1, func(j *nomad.Job) { j.Datacenters = []string{"mars"} }))
		m := w.failedGroup(r.EvalID)
		w.equal("evaluated", m.NodesEvaluated, 0)
		w.equal("available", m.NodesAvailable["dc1"], 0)
	}},
	{"place-fixed-by-registration", func(w *world) {
		r := w.register(w.job(1, func(j *nomad.Job) { j.TaskGroups[0].Tasks[0].Driver = "steam" }))
		w.awaitEval(r.EvalID)
		w.register(w.job(1))
		w.awaitAllocs(w.name, "running", 1)
	}},
}

// failedGroup waits for an evaluation and says why the group was not placed.
func (w *world) failedGroup(evalID string) *nomad.AllocationMetric {
	w.Helper()
	e := w.awaitEval(evalID)
	w.holds("a failed group", e.FailedTGAllocs["web"] != nil)
	return e.FailedTGAllocs["web"]
}

func restarts(n int, delay time.Duration) func(*nomad.Job) {
	return func(j *nomad.Job) {
		j.TaskGroups[0].RestartPolicy = &nomad.RestartPolicy{
			Attempts: &n, Interval: new(time.Minute), Delay: &delay, Mode: new("fail"),
		}
	}
}

func noReschedule(j *nomad.Job) {
	j.TaskGroups[0].ReschedulePolicy = &nomad.ReschedulePolicy{Attempts: new(0),
		Unlimited: new(false)}
}

func reschedule(delay time.Duration) func(*nomad.Job) {
	return func(j *nomad.Job) {
		j.TaskGroups[0].ReschedulePolicy = &nomad.ReschedulePolicy{
			Delay: &delay, DelayFunction: new("constant"), Unlimited: new(true),
		}
	}
}

var allocCases = []contractCase{
	{"alloc-stubs", func(w *world) {
		w.register(w.job(1, withPort))
		id := w.awaitAllocs(w.name, "running", 1)[0].ID
		find := func(params map[string]string) *nomad.AllocationListStub {
			w.Helper()
			as, _, err := w.nomad.Allocations().List(&nomad.QueryOptions{Prefix: id[:8], Params: params})
			w.ok(err)
			w.equal("stubs", len(as), 1)
			return as[0]
		}
		plain := find(nil)
		w.holds("no resources", plain.AllocatedResources == nil)
		w.equal("state", plain.TaskStates["main"].State, "running")
		full := find(map[string]string{"resources": "true"})
		w.equal("port", full.AllocatedResources.Shared.Ports[0].Label, "http")
		w.equal("state beside resources", full.TaskStates["main"].State, "running")
		bare := find(map[string]string{"resources": "true", "task_states": "false"})
		w.equal("no states", len(bare.TaskStates), 0)
		job := w.do("GET", "/v1/job/"+w.name+"/allocations?resources=true", "")
		w.holds("a job's allocations have no resources",
			!strings.Contains(job.body, "AllocatedResources"))
	}},
	{"alloc-read", func(w *world) {
		w.register(w.job(1))
		stub := w.awaitAllocs(w.name, "running", 1)[0]
		a, meta, err := w.nomad.Allocations().Info(stub.ID, nil)
		w.ok(err)
		w.equal("index", meta.LastIndex, a.ModifyIndex)
		w.equal("job in it", *a.Job.ID, w.name)
		w.equal("desired", a.DesiredStatus, "run")
		w.refused("GET", "/v1/allocation/"+nobody, "", 404, "alloc not found")
		w.refused("GET", "/v1/allocation/short", "", 500, "UUID must be 36 characters")
		of, _, err := w.nomad.Evaluations().Allocations(stub.EvalID, nil)
		w.ok(err)
		w.equal("allocations of the evaluation", len(of), 1)
		w.refused("GET", "/v1/evaluation/"+nobody, "", 404, "eval not found")
	}},
	{"alloc-task-events", func(w *world) {
		w.register(w.job(1))
		s := w.awaitAllocs(w.name, "running", 1)[0].TaskStates["main"]
		var kinds []string
		for _, e := range s.Events {
			kinds = append(kinds, e.Type)
			w.holds("a message and a time", e.DisplayMessage != "" && e.Time > 0)
		}
		w.equal("events", kinds, []string{"Received", "Task Setup", "Started"})
		w.holds("a start", !s.StartedAt.IsZero())
		w.scale(w.name, 0)
		s = w.awaitAllocs(w.name, "complete", 1)[0].TaskStates["main"]
		kinds = nil
		for _, e := range s.Events[3:] {
			kinds = append(kinds, e.Type)
		}
		w.equal("events of the end", kinds, []string{"Killing", "Terminated", "Killed"})
		w.equal("state", s.State, "dead")
		w.equal("failed", s.Failed, false)
	}},
	{"alloc-fails", func(w *world) {
		w.register(w.job(1, script("exit 3"), restarts(0, 0), noReschedule))
		a := w.awaitAllocs(w.name, "failed", 1)[0]
		w.equal("description", a.ClientDescription, "Failed tasks")
		s := a.TaskStates["main"]
		w.equal("failed", s.Failed, true)
		w.equal("state", s.State, "dead")
		end := s.Events[len(s.Events)-2]
		w.equal("type", end.Type, "Terminated")
		w.equal("exit code", end.ExitCode, 3)
		w.equal("details", end.Details["exit_code"], "3")
		w.equal("last", s.Events[len(s.Events)-1].Type, "Not Restarting")
		w.awaitStatus(w.name, "dead")
	}},
	{"alloc-restarts", func(w *world) {
		w.register(w.job(1, script("sleep 0.1; exit 1"), restarts(1, 100*time.Millisecond),
			noReschedule))
		s := w.awaitAllocs(w.name, "failed", 1)[0].TaskStates["main"]
		w.equal("restarts", s.Restarts, uint64(1))
		last := s.Events[len(s.Events)-1]
		w.equal("last", last.Type, "Not Restarting")
		w.holds("why: "+last.DisplayMessage, strings.Contains(last.DisplayMessage,
			"Exceeded allowed attempts 1 in interval 1m0s"))
	}},
	{"alloc-no-binary", func(w *world) {
		w.register(w.job(1, restarts(0, 0), noReschedule, func(j *nomad.Job) {
			j.TaskGroups[0].Tasks[0].Config["command"] = "/no/such/binary"
		}))
		s := w.awaitAllocs(w.name, "failed", 1)[0].TaskStates["main"]
		found := ""
		for _, e := range s.Events {
			if e.Type == "Driver Failure" {
				found = e.DisplayMessage
			}
		}
		w.holds("a driver failure: "+found, strings.Contains(found,
			"failed to launch command with executor"))
	}},
	{"alloc-reschedule-later", func(w *world) {
		r := w.register(w.job(1, script("exit 1"), restarts(0, 0), reschedule(time.Hour)))
		w.awaitEval(r.EvalID)
		first := w.awaitAllocs(w.name, "failed", 1)[0]
		var e *nomad.Evaluation
		w.eventually("a follow-up evaluation", func() (string, bool) {
			a, _, err := w.nomad.Allocations().Info(first.ID, nil)
			w.ok(err)
			if a.FollowupEvalID == "" {
				return "none", false
			}
			e, _, err = w.nomad.Evaluations().Info(a.FollowupEvalID, nil)
			w.ok(err)
			return "one", true
		})
		w.equal("status", e.Status, "pending")
		w.equal("trigger", e.TriggeredBy, "alloc-reschedule")
		w.equal("description", e.StatusDescription, "created for delayed rescheduling")
		w.holds("an hour later", time.Until(e.WaitUntil) > 50*time.Minute)
		w.equal("job meanwhile", *w.info(w.name).Status, "pending")
		w.equal("allocations meanwhile", len(w.allocs(w.name)), 1)
	}},
	{"alloc-rescheduled", func(w *world) {
		out := filepath.Join(w.TempDir(), "ok")
		once := "[ -e " + out + " ] || { echo end > " + out + "; exit 1; }; exec sleep 600"
		w.register(w.job(1, script(once), restarts(0, 0), reschedule(5*time.Second)))
		first := w.awaitAllocs(w.name, "failed", 1)[0]
		second := w.awaitAllocs(w.name, "running", 1)[0]
		a, _, err := w.nomad.Allocations().Info(second.ID, nil)
		w.ok(err)
		w.equal("previous", a.PreviousAllocation, first.ID)
		w.equal("name", a.Name, first.Name)
		w.equal("reschedules", len(a.RescheduleTracker.Events), 1)
	}},
	{"alloc-batch-completes", func(w *world) {
		w.register(w.job(1, script("exit 0"), func(j *nomad.Job) {
			j.Type,
				j.TaskGroups[0].Update = new("batch"), nil
		}))
		w.awaitAllocs(w.name, "complete", 1)
		w.awaitStatus(w.name, "dead")
		w.equal("allocations", len(w.allocs(w.name)), 1)
	}},
	{"alloc-signal", func(w *world) {
		out := filepath.Join(w.TempDir(), "sig")
		w.register(w.job(1,
			script(`trap 'echo end > `+out+`' USR1; echo ready; while :; do sleep 0.1; done`)))
		a := w.awaitAllocs(w.name, "running", 1)[0]
		w.eventually("signal arrives", func() (string, bool) {
			r := w.do("PUT", "/v1/client/allocation/"+a.ID+"/signal", `{"Task":"main","Signal":"SIGUSR1"}`)
			w.equal("status", r.code, 200)
			time.Sleep(100 * time.Millisecond)
			return "", fileExists(out)
		})
		w.refused("PUT", "/v1/client/allocation/"+a.ID+"/signal", `{"Task":"nope","Signal":"SIGUSR1"}`,
			500, "Task not found")
		w.refused("PUT", "/v1/client/allocation/"+nobody+"/signal", `{"Signal":"SIGUSR1"}`,
			404, "Unknown allocation")
		w.refused("GET", "/v1/client/allocation/"+a.ID+"/signal", "", 405, "Invalid method")
		w.equal("still running", len(w.awaitAllocs(w.name, "running", 1)), 1)
	}},
	{"alloc-restart", func(w *world) {
		w.register(w.job(1))
		a := w.awaitAllocs(w.name, "running", 1)[0]
		r := w.do("PUT", "/v1/client/allocation/"+a.ID+"/restart", `{"TaskName":"main"}`)
		w.equal("status", r.code, 200)
		w.eventually("task has restarted", func() (string, bool) {
			s := w.allocs(w.name)[0].TaskStates["main"]
			return fmt.Sprint(s.State, s.Restarts), s.State == "running" && s.Restarts == 1
		})
		w.equal("the same allocation", w.allocs(w.name)[0].ID, a.ID)
	}},
	{"alloc-stop", func(w *world) {
		w.register(w.job(1))
		a := w.awaitAllocs(w.name, "running", 1)[0]
		r, err := w.nomad.Allocations().Stop(&nomad.Allocation{ID: a.ID}, nil)
		w.ok(err)
		w.equal("trigger", w.awaitEval(r.EvalID).TriggeredBy, "alloc-stop")
		old := w.awaitAllocs(w.name, "complete", 1)[0]
		w.equal("stopped", old.ID, a.ID)
		w.equal("why", old.DesiredDescription, "alloc is being migrated")
		w.equal("name of the new one", w.awaitAllocs(w.name, "running", 1)[0].Name, a.Name)
		w.refused("PUT", "/v1/allocation/"+nobody+"/stop", "", 404, "allocation not found")
	}},
	{"alloc-replaced-by-update", func(w *world) {
		w.register(w.job(1))
		a := w.awaitAllocs(w.name, "running", 1)[0]
		w.register(w.job(1,
			func(j *nomad.Job) { j.TaskGroups[0].Tasks[0].Env = map[string]string{"NEW": "1"} }))
		old := w.awaitAllocs(w.name, "complete", 1)[0]
		w.equal("stopped", old.ID, a.ID)
		w.equal("why", old.DesiredDescription, "alloc is being updated due to job update")
		w.equal("version", w.awaitAllocs(w.name, "running", 1)[0].JobVersion, uint64(1))
	}},
	{"alloc-kill-timeout", func(w *world) {
		out := filepath.Join(w.TempDir(), "up")
		w.register(w.job(1,
			script(`trap '' INT TERM; echo end > `+out+`; while :; do sleep 0.1; done`)))
		w.awaitAllocs(w.name, "running", 1)
		w.awaitFile(out)
		begin := time.Now()
		w.scale(w.name, 0)
		s := w.awaitAllocs(w.name, "complete", 1)[0].TaskStates["main"]
		w.holds("it had its second", time.Since(begin) >= time.Second)
		for _, e := range s.Events {
			if e.Type == "Terminated" {
				w.equal("signal", e.Signal, 9)
				w.equal("exit code", e.ExitCode, 137)
			}
		}
	}},
}
