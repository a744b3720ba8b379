package devnomad

import (
	"net/http"
	"strings"
)

// routes is the API. Methods are the handlers' affair, as in Nomad. Job IDs and variable paths may hold slashes, so those
// subtrees take their path apart themselves.
func (c *Cluster) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"/v1/jobs":                             c.serveJobs,
		"/v1/job/":                             c.serveJob,
		"/v1/validate/job":                     c.serveValidate,
		"/v1/evaluations":                      c.serveEvals,
		"/v1/evaluation/":                      c.serveEval,
		"/v1/allocations":                      c.serveAllocs,
		"/v1/allocation/":                      c.serveAlloc,
		"/v1/client/allocation/":               c.serveClientAlloc,
		"/v1/client/fs/logs/":                  c.serveLogs,
		"/v1/deployments":                      c.serveDeployments,
		"/v1/deployment/":                      c.serveDeployment,
		"/v1/scaling/policies":                 c.serveScalingPolicies,
		"/v1/scaling/policy/":                  c.serveScalingPolicy,
		"/v1/services":                         c.serveServices,
		"/v1/service/":                         c.serveService,
		"/v1/namespaces":                       c.serveNamespaces,
		"/v1/namespace":                        c.serveNamespace,
		"/v1/namespace/":                       c.serveNamespace,
		"/v1/vars":                             c.serveVariables,
		"/v1/var/":                             c.serveVariable,
		"/v1/nodes":                            c.serveNodes,
		"/v1/node/":                            c.serveNode,
		"/v1/agent/self":                       c.serveSelf,
		"/v1/agent/health":                     c.serveHealth,
		"/v1/agent/members":                    c.serveMembers,
		"/v1/status/leader":                    c.serveLeader,
		"/v1/status/peers":                     c.servePeers,
		"/v1/regions":                          c.serveRegions,
		"/v1/acl/tokens":                       c.serveTokens,
		"/v1/acl/token":                        c.serveToken,
		"/v1/acl/token/":                       c.serveToken,
		"/v1/acl/policies":                     c.servePolicies,
		"/v1/acl/policy/":                      c.servePolicy,
		"/v1/operator/scheduler/configuration": c.serveSchedulerConfig,
		"/v1/event/stream":                     c.serveEvents,
	} {
		mux.HandleFunc(pattern, c.wrap(h))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
	})
	return c.faults.wrap(c, mux)
}

// jobVerbs are the words that may end a job's path.
var jobVerbs = []string{
	"/allocations", "/evaluations", "/deployments", "/deployment", "/versions", "/summary",
	"/scale", "/services", "/evaluate", "/submission",
}

// splitJob takes "/v1/job/a/b/scale" apart into "a/b" and "/scale".
func splitJob(path string) (id, verb string) {
	id = strings.TrimPrefix(path, "/v1/job/")
	for _, v := range jobVerbs {
		if rest, ok := strings.CutSuffix(id, v); ok {
			return rest, v
		}
	}
	return id, ""
}
