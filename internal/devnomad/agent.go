package devnomad

import (
	"net/http"

	nomad "github.com/hashicorp/nomad/api"
)

// version is the Nomad whose behaviour is followed.
const version = "2.0.5"

// serveSelf serves GET /v1/agent/self.
func (c *Cluster) serveSelf(_ http.ResponseWriter, r *http.Request) (any, error) {
	g, err := c.resolve(r)
	switch {
	case err != nil:
		return nil, err
	case !g.agent:
		return nil, errForbidden
	}
	return map[string]any{
		"config": map[string]any{
			"ACL":        map[string]any{"Enabled": c.cfg.ACLToken != ""},
			"Region":     c.cfg.Region,
			"Datacenter": c.cfg.Datacenter,
			"NodeName":   c.cfg.Node,
			"Version":    map[string]any{"Version": version},
			"Server":     map[string]any{"Enabled": true, "EventBufferSize": bufferSize},
			"Client":     map[string]any{"Enabled": true},
		},
		"member": c.member(),
		"stats": map[string]any{
			"nomad":  map[string]string{"server": "true", "leader": "true"},
			"client": map[string]string{"node_id": c.node.id},
		},
	}, nil
}

func (c *Cluster) member() map[string]any {
	return map[string]any{
		"Name": c.cfg.Node + "." + c.cfg.Region, "Addr": "127.0.0.1", "Port": 4648, "Status": "alive",
		"Tags": map[string]string{
			"region": c.cfg.Region, "dc": c.cfg.Datacenter, "build": version, "role": "nomad",
		},
	}
}

// serveHealth serves GET /v1/agent/health.
func (c *Cluster) serveHealth(http.ResponseWriter, *http.Request) (any, error) {
	ok := map[string]any{"ok": true, "message": "ok"}
	return map[string]any{"client": ok, "server": ok}, nil
}

func (c *Cluster) serveMembers(http.ResponseWriter, *http.Request) (any, error) {
	return map[string]any{
		"ServerName": c.cfg.Node, "ServerRegion": c.cfg.Region, "ServerDC": c.cfg.Datacenter,
		"Members": []any{c.member()},
	}, nil
}

func (c *Cluster) serveLeader(http.ResponseWriter, *http.Request) (any, error) {
	return "127.0.0.1:4647", nil
}

func (c *Cluster) servePeers(http.ResponseWriter, *http.Request) (any, error) {
	return []string{"127.0.0.1:4647"}, nil
}

func (c *Cluster) serveRegions(http.ResponseWriter, *http.Request) (any, error) {
	return []string{c.cfg.Region}, nil
}

// serveSchedulerConfig serves GET /v1/operator/scheduler/configuration.
func (c *Cluster) serveSchedulerConfig(w http.ResponseWriter, r *http.Request) (any, error) {
	return c.read(w, r, func(_ *store, q query) (found, error) {
		if !q.grants.management {
			return found{}, errForbidden
		}
		return found{index: 1, obj: nomad.SchedulerConfigurationResponse{
			SchedulerConfig: &nomad.SchedulerConfiguration{SchedulerAlgorithm: "binpack"},
		}}, nil
	})
}
