package devnomad

import (
	"math/rand/v2"
	"net"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	nomad "github.com/hashicorp/nomad/api"
)

// The range of dynamic ports: the lower half of Nomad's. Agents beside it that do not look
// whether a port is free, those of the tests, keep to the upper one.
const (
	minPort = 20000
	maxPort = 26000
)

// node is the cluster's only client machine.
type node struct {
	id, name, datacenter, region string
	address                      string
	cpu, memory                  int
	drivers                      []string
	attrs                        map[string]string
	probePorts                   bool // take only ports that nobody listens on
}

func newNode(cfg Config) *node {
	n := &node{
		id: newID(), name: cfg.Node, datacenter: cfg.Datacenter, region: cfg.Region,
		address: "127.0.0.1", cpu: cfg.CPU, memory: cfg.MemoryMB, probePorts: cfg.Runner == nil,
		drivers: []string{"raw_exec", "exec", "doze"},
	}
	for d := range cfg.Drivers {
		if !slices.Contains(n.drivers, d) {
			n.drivers = append(n.drivers, d)
		}
	}
	n.attrs = map[string]string{
		"kernel.name": runtime.GOOS, "cpu.arch": runtime.GOARCH, "arch": runtime.GOARCH,
		"os.name": runtime.GOOS, "nomad.version": version, "nomad.service_discovery": "true",
		"cpu.numcores": strconv.Itoa(runtime.NumCPU()), "unique.hostname": cfg.Node,
		"unique.network.ip-address": n.address,
	}
	for _, d := range n.drivers {
		n.attrs["driver."+d] = "1"
	}
	return n
}

func (n *node) inDatacenter(globs []string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, err := path.Match(g, n.datacenter)
		return err == nil && ok
	})
}

// freePort picks a dynamic port; 0: there is none.
func (n *node) freePort(taken map[int]bool) int {
	span := maxPort - minPort
	start := rand.IntN(span)
	for i := range span {
		p := minPort + (start+i)%span
		if !taken[p] && (!n.probePorts || bindable(n.address, p)) {
			return p
		}
	}
	return 0
}

func bindable(host string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// serveNodes serves GET /v1/nodes.
func (c *Cluster) serveNodes(w http.ResponseWriter, r *http.Request) (any, error) {
	return c.read(w, r, func(_ *store, q query) (found, error) {
		if !q.grants.node {
			return found{}, errForbidden
		}
		n := c.node
		return found{index: 1, obj: []*nomad.NodeListStub{{
			ID: n.id, Name: n.name, Address: n.address, Datacenter: n.datacenter, NodePool: "default",
			Version: version, SchedulingEligibility: "eligible", Status: "ready", CreateIndex: 1,
			ModifyIndex: 1, Drivers: n.driverInfo(),
		}}}, nil
	})
}

// serveNode serves GET /v1/node/:id.
func (c *Cluster) serveNode(w http.ResponseWriter, r *http.Request) (any, error) {
	id := strings.TrimPrefix(r.URL.Path, "/v1/node/")
	return c.read(w, r, func(_ *store, q query) (found, error) {
		if !q.grants.node {
			return found{}, errForbidden
		}
		n := c.node
		if id != n.id {
			return found{index: 1, missing: "node not found"}, nil
		}
		return found{index: 1, obj: &nomad.Node{
			ID: n.id, Name: n.name, Datacenter: n.datacenter, NodePool: "default", Attributes: n.attrs,
			Status: "ready", SchedulingEligibility: "eligible", HTTPAddr: c.host, Drivers: n.driverInfo(),
			CreateIndex: 1, ModifyIndex: 1,
		}}, nil
	})
}

func (n *node) driverInfo() map[string]*nomad.DriverInfo {
	out := map[string]*nomad.DriverInfo{}
	for _, d := range n.drivers {
		out[d] = &nomad.DriverInfo{Detected: true, Healthy: true, HealthDescription: "Healthy"}
	}
	return out
}
