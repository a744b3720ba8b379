package jobs

import (
	"net"
	"slices"
	"strconv"

	nomad "github.com/hashicorp/nomad/api"

	"doze/healthgate"
)

// allocation is one that can serve its group: wanted, placed and not ended.
type allocation struct {
	id       string
	created  uint64 // raft indexes
	modified uint64
	ports    []port
}

// port is where a labelled port of an allocation is reached.
type port struct {
	label, addr string
}

// isLive reports whether an allocation is wanted and has not ended. One that is being
// drained stays live until its replacement has taken over and Nomad wants it stopped.
func isLive(desired, client string) bool {
	ended := client == nomad.AllocClientStatusComplete ||
		client == nomad.AllocClientStatusFailed || client == nomad.AllocClientStatusLost
	return desired == nomad.AllocDesiredStatusRun && !ended
}

// portsOf returns where the ports of a placed allocation are reached: those of the group's
// network first, then those of the tasks' own networks, as jobs before Nomad 0.12 had them.
func portsOf(r *nomad.AllocatedResources) []port {
	if r == nil {
		return nil
	}
	var ports []port
	for _, p := range r.Shared.Ports {
		ports = append(ports, port{p.Label, address(p.HostIP, p.Value)})
	}
	for _, n := range r.Shared.Networks {
		ports = appendNetwork(ports, n)
	}
	for _, task := range r.Tasks {
		for _, n := range task.Networks {
			ports = appendNetwork(ports, n)
		}
	}
	return slices.Clip(ports)
}

// appendNetwork adds the ports of a network whose labels are not there yet.
func appendNetwork(ports []port, n *nomad.NetworkResource) []port {
	for _, p := range slices.Concat(n.ReservedPorts, n.DynamicPorts) {
		known := slices.ContainsFunc(ports, func(o port) bool { return o.label == p.Label })
		if !known && p.Value > 0 {
			ports = append(ports, port{p.Label, address(n.IP, p.Value)})
		}
	}
	return ports
}

func address(ip string, value int) string {
	return net.JoinHostPort(ip, strconv.Itoa(value))
}

// target returns the allocation's address for a port label.
func (a allocation) target(label string) (healthgate.Target, bool) {
	for _, p := range a.ports {
		if p.label == label {
			return healthgate.Target{ID: a.id, Addr: p.addr}, true
		}
	}
	return healthgate.Target{}, false
}
