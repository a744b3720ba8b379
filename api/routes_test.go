package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"doze/api"
	"doze/healthgate"
	"doze/idle"
)

// table is a routing table whose sites are named after their jobs.
type table struct {
	*api.Routes
	loop *idle.Loop
}

func newTable() *table { return &table{api.NewRoutes(), idle.NewLoop(idle.Config{})} }

func (tab *table) site(t testing.TB, job string, created uint64, routes ...api.Route) *api.Site {
	t.Helper()
	id := idle.GroupID{Namespace: "default", Job: job, Group: "web"}
	group := tab.loop.Group(id)
	if group == nil {
		var err error
		group, err = tab.loop.Add(idle.GroupConfig{ID: id, Workload: &app{},
			Policy: idle.Policy{WakeTimeout: time.Second}, Gate: healthgate.GateConfig{}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return &api.Site{Group: group, Routes: routes, Created: created}
}

// at returns the job that a request is for, "" if none.
func (tab *table) at(host, path string) string {
	if s := tab.Lookup(host, path); s != nil {
		return s.Group.ID().Job
	}
	return ""
}

func hosts(names ...string) api.Route { return api.Route{Hosts: names} }

func under(prefix string, names ...string) api.Route {
	return api.Route{Hosts: names, PathPrefix: prefix}
}

func TestRoutes_Lookup(t *testing.T) {
	tab := newTable()
	for job, route := range map[string]api.Route{
		"exact":    hosts("web.example.com"),
		"api":      under("/api", "web.example.com"),
		"api-v2":   under("/api/v2/", "web.example.com"),
		"wild":     hosts("*.example.com"),
		"deep":     hosts("*.preview.example.com"),
		"partial":  under("/only", "part.example.com"),
		"idn":      hosts("bücher.example"),
		"v6":       hosts("[2001:db8::1]"),
		"shouting": hosts("LOUD.Example.ORG."),
	} {
		tab.Put(tab.site(t, job, 1, route))
	}
	for _, c := range []struct{ host, path, want string }{
		{"web.example.com", "/", "exact"},
		{"WEB.Example.Com:8080", "/", "exact"},
		{"web.example.com.", "/", "exact"},
		{"web.example.com.:80", "/", "exact"},
		{"web.example.com", "*", "exact"},
		{"web.example.com", "/api", "api"},
		{"web.example.com", "/api/", "api"},
		{"web.example.com", "/api/v1", "api"},
		{"web.example.com", "/apis", "exact"},
		{"web.example.com", "/api/v2", "api-v2"},
		{"web.example.com", "/api/v2/x", "api-v2"},
		{"web.example.com", "/api/v22", "api"},
		{"other.example.com", "/", "wild"},
		{"a.b.example.com", "/", "wild"},
		{"pr-1.preview.example.com", "/", "deep"},
		{"preview.example.com", "/", "wild"},
		{"part.example.com", "/only/this", "partial"},
		{"part.example.com", "/", "wild"},
		{"example.com", "/", ""},
		{"notexample.com", "/", ""},
		{"xn--bcher-kva.example", "/", "idn"},
		{"[2001:db8::1]:443", "/", "v6"},
		{"[2001:db8::1]", "/", "v6"},
		{"loud.example.org", "/", "shouting"},
		{"", "/", ""},
		{".", "/", ""},
		{".example.com", "/", ""},
		{"a..example.com", "/", ""},
		{"bücher.example", "/", ""},
		{"web.example.com\x00", "/", ""},
		{strings.Repeat("a.", 127) + "example.com", "/", ""},
	} {
		if got := tab.at(c.host, c.path); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.host, c.path, got, c.want)
		}
	}
}

func TestRoutes_anyHost_isAskedLast(t *testing.T) {
	tab := newTable()
	tab.Put(tab.site(t, "any", 1, hosts("*")))
	tab.Put(tab.site(t, "wild", 1, hosts("*.example.com")))
	if got := tab.at("x.example.com", "/"); got != "wild" {
		t.Errorf("got %q", got)
	}
	if got := tab.at("localhost:80", "/"); got != "any" {
		t.Errorf("got %q", got)
	}
}

func TestRoutes_contestedRoute_olderJobKeepsIt(t *testing.T) {
	tab := newTable()
	if c := tab.Put(tab.site(t, "young", 20, hosts("a.example.com", "b.example.com"))); c != nil {
		t.Fatalf("conflicts without a rival: %v", c)
	}
	conflicts := tab.Put(tab.site(t, "old", 10, hosts("A.example.com")))
	if len(conflicts) != 1 || conflicts[0].Keeper.Job != "old" || conflicts[0].Loser.Job != "young" ||
		conflicts[0].Host != "a.example.com" || conflicts[0].PathPrefix != "/" {
		t.Errorf("conflicts: %+v", conflicts)
	}
	const words = `host "a.example.com", path "/" is served by default/old/web, whose job is older; ` +
		`default/young/web does not get it`
	if got := fmt.Sprint(conflicts[0]); got != words {
		t.Errorf("in words: %s", got)
	}
	if got := tab.at("a.example.com", "/"); got != "old" {
		t.Errorf("a: %q", got)
	}
	if got := tab.at("b.example.com", "/"); got != "young" {
		t.Errorf("b: %q", got)
	}
	if c := tab.Conflicts(); len(c) != 1 {
		t.Errorf("all conflicts: %+v", c)
	}
	tab.Remove(tab.loop.Group(idle.GroupID{Namespace: "default", Job: "old", Group: "web"}).ID())
	if got := tab.at("a.example.com", "/"); got != "young" {
		t.Errorf("after the older one has gone: %q", got)
	}
	if c := tab.Conflicts(); c != nil {
		t.Errorf("conflicts left: %+v", c)
	}
}

func TestRoutes_differentPrefixes_areNoConflict(t *testing.T) {
	tab := newTable()
	tab.Put(tab.site(t, "one", 1, under("/one", "a.example.com")))
	if c := tab.Put(tab.site(t, "two", 2, under("/two", "a.example.com"))); c != nil {
		t.Errorf("conflicts: %+v", c)
	}
}

func TestRoutes_Put_replacesAllRoutesOfTheGroup(t *testing.T) {
	tab := newTable()
	tab.Put(tab.site(t, "job", 1, hosts("old.example.com", "both.example.com")))
	tab.Put(tab.site(t, "job", 1, hosts("new.example.com", "both.example.com")))
	for host, want := range map[string]string{
		"old.example.com": "", "new.example.com": "job", "both.example.com": "job",
	} {
		if got := tab.at(host, "/"); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	if c := tab.Conflicts(); c != nil {
		t.Errorf("a group conflicts with itself: %+v", c)
	}
}

func TestRoutes_hostThatIsNoName_matchesNothing(t *testing.T) {
	tab := newTable()
	tab.Put(tab.site(t, "job", 1, hosts("", "*.", "a b", "a..b", "*.*.example.com", "ok.example.com")))
	if got := tab.at("ok.example.com", "/"); got != "job" {
		t.Errorf("the valid one: %q", got)
	}
	if got := tab.at("x.y.example.com", "/"); got != "" {
		t.Errorf("a wildcard in the middle matched %q", got)
	}
}

func TestRoutes_Lookup_doesNotAllocate(t *testing.T) {
	tab := newTable()
	tab.Put(tab.site(t, "job", 1, under("/x", "*.example.com")))
	for _, host := range []string{"web.example.com", "WEB.example.com:8080", "unknown.org"} {
		if n := testing.AllocsPerRun(100, func() { tab.Lookup(host, "/x/y") }); n != 0 {
			t.Errorf("%s: %v allocations", host, n)
		}
	}
}

func TestRoutes_lookupsDuringChanges_seeOneOrTheOther(t *testing.T) {
	tab := newTable()
	tab.Put(tab.site(t, "job", 1, hosts("a.example.com")))
	next := tab.site(t, "job", 1, hosts("a.example.com"))
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 2000 {
				if tab.at("a.example.com", "/") != "job" {
					t.Error("a route was away while it was replaced")
					return
				}
			}
		})
	}
	for range 200 {
		site := *next
		tab.Put(&site)
	}
	readers.Wait()
}

func FuzzRoutes_Lookup(f *testing.F) {
	tab := newTable()
	tab.Put(tab.site(f, "job", 1, hosts("web.example.com", "*.example.com")))
	for _, seed := range []string{"web.example.com:80", "[::1]:1", "..", ":", "x.example.com.", "]:"} {
		f.Add(seed, "/a")
	}
	f.Fuzz(func(t *testing.T, host, path string) {
		if tab.at(host, path) == "" {
			return
		}
		if !strings.Contains(strings.ToLower(host), "example.com") {
			t.Errorf("%q matched", host)
		}
	})
}

func BenchmarkRoutes_Lookup(b *testing.B) {
	tab := newTable()
	for i := range 10000 {
		tab.Put(tab.site(b, fmt.Sprint("job", i), 1, hosts(fmt.Sprintf("app%d.example.com", i))))
	}
	b.ReportAllocs()
	for b.Loop() {
		if tab.Lookup("app77.example.com:8080", "/") == nil {
			b.Fatal("not found")
		}
	}
}
