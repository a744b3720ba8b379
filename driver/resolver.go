package driver

import (
	"bufio"
	"net/netip"
	"os"
	"slices"
	"strings"

	"doze/plugins/drivers"
)

// resolver is what a resolv.conf(5) says.
type resolver struct {
	servers, searches, options []string
}

// resolverOf is the text of the resolv.conf that the task sees; "": the machine's own. What
// its dns block leaves out is as on the machine.
func resolverOf(task drivers.TaskConfig, machine func(inNamespace bool) resolver, ps *Problems,
) string {
	apart := namespaceOf(task) != ""
	if task.DNS == nil {
		if own := machine(false); apart && own.loopbackOnly() {
			return machine(true).text() // nobody answers at the task's own loopback address
		}
		return ""
	}
	checkDNS(task.DNS, ps)
	r := machine(apart)
	for _, part := range []struct {
		of    *[]string
		given []string
	}{
		{&r.servers, task.DNS.Servers}, {&r.searches, task.DNS.Searches},
		{&r.options, task.DNS.Options},
	} {
		if len(part.given) > 0 {
			*part.of = part.given
		}
	}
	return r.text()
}

// checkDNS finds what can't be written to a resolv.conf.
func checkDNS(dns *drivers.DNS, ps *Problems) {
	for _, server := range dns.Servers {
		if _, err := netip.ParseAddr(server); err != nil {
			ps.addAt("network > dns > servers", "write an address, as in 10.0.0.53",
				"%q is no address", server)
		}
	}
	for _, word := range slices.Concat(dns.Searches, dns.Options) {
		if word == "" || strings.ContainsAny(word, " \t\r\n") {
			ps.addAt("network > dns", "write one word in each entry", "%q is not one word", word)
		}
	}
}

// machineResolver reads the machine's resolv.conf or, for a network namespace where the
// machine's own stub can't be reached, the one of the servers behind it, which
// systemd-resolved(8) keeps beside.
func machineResolver(inNamespace bool) resolver {
	r := readResolver("/etc/resolv.conf")
	if inNamespace && r.loopbackOnly() {
		if behind := readResolver("/run/systemd/resolve/resolv.conf"); len(behind.servers) > 0 {
			return behind
		}
	}
	return r
}

// readResolver reads a resolv.conf; one that can't be read says nothing, as to the resolver
// itself.
func readResolver(path string) resolver {
	var r resolver
	file, err := os.Open(path)
	if err != nil {
		return r
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		r.read(strings.Fields(lines.Text()))
	}
	return r
}

// read takes up a line. The last search counts, and the last domain is one.
func (r *resolver) read(words []string) {
	if len(words) < 2 {
		return
	}
	switch rest := words[1:]; words[0] {
	case "nameserver":
		r.servers = append(r.servers, rest[0])
	case "search", "domain":
		r.searches = rest
	case "options":
		r.options = append(r.options, rest...)
	}
}

// loopbackOnly reports whether there are servers, and none but on this machine itself.
func (r resolver) loopbackOnly() bool {
	return len(r.servers) > 0 && !slices.ContainsFunc(r.servers, func(server string) bool {
		addr, err := netip.ParseAddr(server)
		return err != nil || !addr.IsLoopback()
	})
}

// text is the resolv.conf.
func (r resolver) text() string {
	var b strings.Builder
	for _, server := range r.servers {
		b.WriteString("nameserver " + server + "\n")
	}
	if len(r.searches) > 0 {
		b.WriteString("search " + strings.Join(r.searches, " ") + "\n")
	}
	if len(r.options) > 0 {
		b.WriteString("options " + strings.Join(r.options, " ") + "\n")
	}
	return b.String()
}
