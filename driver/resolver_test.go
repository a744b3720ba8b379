package driver

import (
	"slices"
	"testing"

	"doze/plugins/drivers"
)

// stub is a machine with systemd-resolved: its own resolv.conf names a server that only the
// machine's own network reaches.
func stub(inNamespace bool) resolver {
	r := resolver{servers: []string{"127.0.0.53"}, searches: []string{"lan"},
		options: []string{"edns0"}}
	if inNamespace {
		r.servers = []string{"10.0.0.1", "10.0.0.2"}
	}
	return r
}

func TestResolverOf_dnsBlock_replacesWhatItNames(t *testing.T) {
	inGroup := &drivers.Network{Mode: drivers.NetworkGroup, Path: "/run/netns/a"}
	for name, tc := range map[string]struct {
		dns     *drivers.DNS
		network *drivers.Network
		want    string
	}{
		"none": {},
		"all": {&drivers.DNS{Servers: []string{"10.1.2.3", "fd00::1"},
			Searches: []string{"a.example", "b"}, Options: []string{"ndots:2"}}, nil,
			"nameserver 10.1.2.3\nnameserver fd00::1\nsearch a.example b\noptions ndots:2\n"},
		"searches only": {&drivers.DNS{Searches: []string{"a"}}, nil,
			"nameserver 127.0.0.53\nsearch a\noptions edns0\n"},
		"empty, in a namespace": {&drivers.DNS{}, inGroup,
			"nameserver 10.0.0.1\nnameserver 10.0.0.2\nsearch lan\noptions edns0\n"},
		"none, in a namespace": {nil, inGroup,
			"nameserver 10.0.0.1\nnameserver 10.0.0.2\nsearch lan\noptions edns0\n"},
	} {
		var ps Problems
		got := resolverOf(drivers.TaskConfig{DNS: tc.dns, Network: tc.network}, stub, &ps)
		if got != tc.want || len(ps) > 0 {
			t.Errorf("%s: got %q, %v", name, got, ps)
		}
	}
}

func TestResolverOf_reachableServers_stayTheMachinesOwn(t *testing.T) {
	task := drivers.TaskConfig{Network: &drivers.Network{Mode: drivers.NetworkGroup, Path: "/ns"}}
	var ps Problems
	machine := func(bool) resolver { return resolver{servers: []string{"127.0.0.1", "10.0.0.1"}} }
	if got := resolverOf(task, machine, &ps); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestResolverOf_wordsThatAreNone_areProblems(t *testing.T) {
	dns := &drivers.DNS{Servers: []string{"dns.example"}, Searches: []string{"a\nnameserver 6.6.6.6"},
		Options: []string{""}}
	var ps Problems
	resolverOf(drivers.TaskConfig{DNS: dns}, stub, &ps)
	want := `network > dns > servers: "dns.example" is no address; write an address, as in 10.0.0.53
network > dns: "a\nnameserver 6.6.6.6" is not one word; write one word in each entry
network > dns: "" is not one word; write one word in each entry`
	if ps.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", ps.Error(), want)
	}
}

func TestResolver_read_isWhatTheLibraryReads(t *testing.T) {
	var r resolver
	for _, line := range [][]string{{"#", "nameserver", "6.6.6.6"}, {"nameserver", "10.0.0.1"},
		{"domain", "old"}, {"search", "a", "b"}, {"options", "ndots:1"}, {"options", "edns0"},
		{"nameserver"}, {}} {
		r.read(line)
	}
	if !slices.Equal(r.servers, []string{"10.0.0.1"}) ||
		!slices.Equal(r.searches, []string{"a", "b"}) ||
		!slices.Equal(r.options, []string{"ndots:1", "edns0"}) {
		t.Errorf("got %+v", r)
	}
}
