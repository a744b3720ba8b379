package jobs

import (
	"slices"
	"testing"

	nomad "github.com/hashicorp/nomad/api"
)

func TestPortsOf_everyKindOfNetwork_givesTheHostAddress(t *testing.T) {
	for name, test := range map[string]struct {
		resources *nomad.AllocatedResources
		want      []port
	}{
		"none": {nil, nil},
		"host": {&nomad.AllocatedResources{Shared: nomad.AllocatedSharedResources{
			Ports: []nomad.PortMapping{{Label: "http", Value: 20001, HostIP: "10.0.0.7"}},
		}}, []port{{"http", "10.0.0.7:20001"}}},
		// The address inside the bridge is not where requests come from.
		"bridge": {&nomad.AllocatedResources{Shared: nomad.AllocatedSharedResources{
			Networks: []*nomad.NetworkResource{{
				Mode: "bridge", IP: "10.0.0.7",
				DynamicPorts: []nomad.Port{{Label: "http", Value: 20001, To: 80}},
			}},
			Ports: []nomad.PortMapping{{Label: "http", Value: 20001, To: 80, HostIP: "10.0.0.7"}},
		}}, []port{{"http", "10.0.0.7:20001"}}},
		"host network of its own and IPv6": {&nomad.AllocatedResources{
			Shared: nomad.AllocatedSharedResources{Ports: []nomad.PortMapping{
				{Label: "http", Value: 80, HostIP: "2001:db8::7"},
				{Label: "admin", Value: 20002, HostIP: "192.168.1.7"},
			}},
		}, []port{{"http", "[2001:db8::7]:80"}, {"admin", "192.168.1.7:20002"}}},
		"task's own network": {&nomad.AllocatedResources{
			Tasks: map[string]*nomad.AllocatedTaskResources{"app": {
				Networks: []*nomad.NetworkResource{{
					IP:            "10.0.0.8",
					ReservedPorts: []nomad.Port{{Label: "http", Value: 8080}},
				}},
			}},
		}, []port{{"http", "10.0.0.8:8080"}}},
	} {
		if got := portsOf(test.resources); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
