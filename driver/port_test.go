package driver

import (
	"testing"

	"doze/plugins/drivers"
)

func TestListenAddr_onTheMachine_isTheHostsAddress(t *testing.T) {
	var ps Problems
	if got := listenAddr("http", block(t, nil), &ps); got != "10.0.0.1:23456" || len(ps) > 0 {
		t.Errorf("got %q, %v", got, ps)
	}
}

func TestListenAddr_inTheGroupsNamespace_isTheMappedPort(t *testing.T) {
	task := block(t, nil)
	task.Network = &drivers.Network{Mode: drivers.NetworkGroup, Path: "/run/netns/a"}
	for to, want := range map[int32]string{8080: ":8080", 0: ":23456", -1: ":23456"} {
		task.Resources.Ports[0].To = to
		var ps Problems
		if got := listenAddr("http", task, &ps); got != want {
			t.Errorf("to = %d: got %q, want %q", to, got, want)
		}
	}
}

func TestListenAddr_tasksOwnNetwork_isFoundToo(t *testing.T) {
	task := drivers.TaskConfig{Resources: drivers.Resources{Networks: []drivers.NetworkResource{
		{IP: "10.0.0.2", DynPorts: []drivers.Port{{Label: "db", Value: 5432}}}}}}
	var ps Problems
	if got := listenAddr("db", task, &ps); got != "10.0.0.2:5432" || len(ps) > 0 {
		t.Errorf("got %q, %v", got, ps)
	}
}

func TestListenAddr_unknownLabel_namesTheOnesThereAre(t *testing.T) {
	var ps Problems
	listenAddr("htpp", block(t, nil), &ps)
	listenAddr("htpp", drivers.TaskConfig{}, &ps)
	want := "config > listen: no port is labelled \"htpp\"; there are http\n" +
		`config > listen: no port is labelled "htpp"; add port "htpp" {} to the group's network block`
	if ps.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", ps.Error(), want)
	}
}
