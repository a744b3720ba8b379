package devnomad

import (
	"encoding/json"
	"slices"

	nomad "github.com/hashicorp/nomad/api"
)

// event is one entry of the event stream.
type event struct {
	Topic      nomad.Topic
	Type       string
	Key        string
	Namespace  string
	FilterKeys []string
	Index      uint64
	Payload    map[string]any

	encoded json.RawMessage
}

// The types of events, named after the operation that caused them.
const (
	typeJobRegistered   = "JobRegistered"
	typeJobDeregistered = "JobDeregistered"
	typeEvalUpdated     = "EvaluationUpdated"
	typePlanResult      = "PlanResult"
	typeAllocUpdated    = "AllocationUpdated"
	typeAllocDesired    = "AllocationUpdateDesiredStatus"
	typeDeployment      = "DeploymentStatusUpdate"
	typeServiceUp       = "ServiceRegistration"
	typeServiceDown     = "ServiceDeregistration"
	typeVariable        = "VariableUpdated"
	typeTokenUpserted   = "ACLTokenUpserted"
	typeTokenDeleted    = "ACLTokenDeleted"
	typePolicyUpserted  = "ACLPolicyUpserted"
)

func jobEvent(j *nomad.Job, deleted bool) *event {
	p := map[string]any{"Job": j}
	if deleted {
		p["Deleted"] = true
	}
	return &event{Topic: nomad.TopicJob, Key: *j.ID, Namespace: *j.Namespace, Payload: p}
}

func evalEvent(e *nomad.Evaluation) *event {
	return &event{
		Topic: nomad.TopicEvaluation, Key: e.ID, Namespace: e.Namespace,
		FilterKeys: []string{e.JobID, e.DeploymentID},
		Payload:    map[string]any{"Evaluation": e},
	}
}

// allocEvent leaves the job out, as Nomad does to keep events small.
func allocEvent(a *nomad.Allocation) *event {
	bare := *a
	bare.Job = nil
	return &event{
		Topic: nomad.TopicAllocation, Key: a.ID, Namespace: a.Namespace,
		FilterKeys: []string{a.JobID, a.DeploymentID},
		Payload:    map[string]any{"Allocation": &bare},
	}
}

func deploymentEvent(d *nomad.Deployment) *event {
	return &event{
		Topic: nomad.TopicDeployment, Key: d.ID, Namespace: d.Namespace,
		FilterKeys: []string{d.JobID},
		Payload:    map[string]any{"Deployment": d},
	}
}

func serviceEvent(r *nomad.ServiceRegistration) *event {
	return &event{
		Topic: nomad.TopicService, Key: r.ID, Namespace: r.Namespace,
		FilterKeys: []string{r.JobID, r.ServiceName},
		Payload:    map[string]any{"Service": r},
	}
}

// matches says whether a subscription to topics wants this event: "*" stands
// for every topic or key, and a key may also be one of the filter keys.
func (e *event) matches(topics map[nomad.Topic][]string, namespace string) bool {
	if namespace != allNamespaces && e.Namespace != "" && e.Namespace != namespace {
		return false
	}
	return e.hasKey(topics[e.Topic]) || e.hasKey(topics["*"])
}

func (e *event) hasKey(keys []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool {
		return k == "*" || k == e.Key || slices.Contains(e.FilterKeys, k)
	})
}
