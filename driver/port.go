package driver

import (
	"net"
	"strconv"
	"strings"

	"doze/plugins/drivers"
)

// listenAddr is the address that a port label of the task's group stands for: on the
// machine, or in the group's own network namespace. "": the task listens nowhere.
func listenAddr(label string, task drivers.TaskConfig, ps *Problems) string {
	if label == "" {
		return ""
	}
	var labels []string
	for _, port := range ports(task.Resources) {
		if port.Label != label {
			labels = append(labels, port.Label)
			continue
		}
		if namespaceOf(task) == "" {
			return net.JoinHostPort(port.HostIP, strconv.Itoa(int(port.Value)))
		}
		inside := port.To
		if inside <= 0 {
			inside = port.Value
		}
		return net.JoinHostPort("", strconv.Itoa(int(inside)))
	}
	hint := `add port "` + label + `" {} to the group's network block`
	if len(labels) > 0 {
		hint = "there are " + strings.Join(labels, ", ")
	}
	ps.add("listen", hint, "no port is labelled %q", label)
	return ""
}

// ports are those of the group's network, else of the task's own.
func ports(r drivers.Resources) []drivers.Port {
	all := r.Ports
	for _, network := range r.Networks {
		for _, port := range append(network.ReservedPorts, network.DynPorts...) {
			port.HostIP = network.IP
			all = append(all, port)
		}
	}
	return all
}

// namespaceOf is the path of the group's network namespace; "": the machine's.
func namespaceOf(task drivers.TaskConfig) string {
	if task.Network == nil || task.Network.Mode != drivers.NetworkGroup {
		return ""
	}
	return task.Network.Path
}
