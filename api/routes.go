package api

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"doze/idle"
)

// routeShards keeps what one Put copies small: 100,000 hosts are about 100 a shard.
const routeShards = 1024

// Routes finds the group that a request is for: exact host, then the longest wildcard,
// then the longest path prefix. Where a more specific host has no route for the path, the
// next less specific one is asked. Lookups take no lock and allocate nothing; Put and
// Remove copy one small shard a route. All methods are safe for concurrent use.
type Routes struct {
	seed   maphash.Seed
	shards [routeShards]atomic.Pointer[routeShard]

	mu        sync.Mutex // guards what follows, and the writing of shards
	sites     map[idle.GroupID]*Site
	contested map[routeKey]struct{}
}

// routeShard holds the claims of each host, the longest prefix first. It is never changed
// once it has been stored.
type routeShard map[string][]routeClaim

// routeClaim is one prefix of a host and the sites that want it, the oldest first: that
// one has it.
type routeClaim struct {
	prefix string
	sites  []*Site
}

// Conflict is a route that two groups claim.
type Conflict struct {
	Host       string // as in the job, in its ASCII form: "web.example.com", "*.example.com"
	PathPrefix string // "/" for every path
	Keeper     idle.GroupID
	Loser      idle.GroupID
}

// String says it in words.
func (c Conflict) String() string {
	return fmt.Sprintf("host %q, path %q is served by %s, whose job is older; %s does not get it",
		c.Host, c.PathPrefix, c.Keeper, c.Loser)
}

// NewRoutes returns an empty table.
func NewRoutes() *Routes {
	return &Routes{
		seed:      maphash.MakeSeed(),
		sites:     map[idle.GroupID]*Site{},
		contested: map[routeKey]struct{}{},
	}
}

// Lookup returns the site that a request with this Host header (or :authority) and decoded
// path is for, or nil.
func (r *Routes) Lookup(host, path string) *Site {
	site, _ := r.find(host, path)
	return site
}

// find is Lookup that also reports whether host is a valid name at all.
func (r *Routes) find(host, path string) (site *Site, valid bool) {
	var buf [maxHost]byte
	name, ok := foldHost(host, &buf)
	if !ok {
		return nil, false
	}
	if site := r.at(name, path); site != nil {
		return site, true
	}
	for i, c := range name {
		if c != '.' {
			continue
		}
		if site := r.at(name[i:], path); site != nil {
			return site, true
		}
	}
	return r.at([]byte{'.'}, path), true
}

// at returns the site of one host key, or nil.
func (r *Routes) at(host []byte, path string) *Site {
	shard := r.shards[maphash.Bytes(r.seed, host)%routeShards].Load()
	if shard == nil {
		return nil
	}
	claims := (*shard)[string(host)]
	for i := range claims {
		if pathUnder(claims[i].prefix, path) {
			return claims[i].sites[0]
		}
	}
	return nil
}

// Put adds a site, or replaces the one of the same group, and returns the conflicts that
// the site is now part of, whether it keeps the route or not. It takes the Site over.
func (r *Routes) Put(s *Site) []Conflict {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := s.Group.ID()
	s.state = &siteState{}
	if old := r.sites[id]; old != nil {
		s.state = old.state
	}
	r.replace(r.sites[id], s)
	r.sites[id] = s
	var conflicts []Conflict
	for _, key := range s.keys() {
		for _, c := range r.conflictsAt(key) {
			if c.Keeper == id || c.Loser == id {
				conflicts = append(conflicts, c)
			}
		}
	}
	return conflicts
}

// Remove forgets a group's site; a group that lost a route to it gets the route.
func (r *Routes) Remove(id idle.GroupID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replace(r.sites[id], nil)
	delete(r.sites, id)
}

// Conflicts returns every contested route, sorted by host, prefix and loser.
func (r *Routes) Conflicts() []Conflict {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Conflict
	for key := range r.contested {
		all = append(all, r.conflictsAt(key)...)
	}
	slices.SortFunc(all, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.PathPrefix, b.PathPrefix),
			cmp.Compare(a.Loser.String(), b.Loser.String()))
	})
	return all
}

// keys returns what the site claims, each once.
func (s *Site) keys() []routeKey {
	if s == nil {
		return nil
	}
	var keys []routeKey
	for _, route := range s.Routes {
		for _, key := range route.keys() {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// replace moves every route of old to s; either may be nil. A route that both have is
// never without a site in between.
func (r *Routes) replace(old, s *Site) {
	keys := s.keys()
	for _, key := range old.keys() {
		if !slices.Contains(keys, key) {
			r.write(key, old, nil)
		}
	}
	for _, key := range keys {
		r.write(key, old, s)
	}
}

// write replaces old by s in the claims of one key, in a copy of its shard.
func (r *Routes) write(key routeKey, old, s *Site) {
	slot := &r.shards[maphash.String(r.seed, key.host)%routeShards]
	next := routeShard{}
	if shard := slot.Load(); shard != nil {
		next = maps.Clone(*shard)
	}
	claims := rewriteClaims(next[key.host], key.prefix, old, s)
	next[key.host] = claims
	if len(claims) == 0 {
		delete(next, key.host)
	}
	slot.Store(&next)
	delete(r.contested, key)
	if i := claimOf(claims, key.prefix); i >= 0 && len(claims[i].sites) > 1 {
		r.contested[key] = struct{}{}
	}
}

// rewriteClaims returns a copy of claims with old replaced by s under prefix.
func rewriteClaims(claims []routeClaim, prefix string, old, s *Site) []routeClaim {
	claims = slices.Clone(claims)
	i := claimOf(claims, prefix)
	if i < 0 {
		i, claims = len(claims), append(claims, routeClaim{prefix: prefix})
	}
	sites := slices.Clone(claims[i].sites)
	sites = slices.DeleteFunc(sites, func(x *Site) bool { return x == old })
	if s != nil {
		sites = append(sites, s)
	}
	slices.SortStableFunc(sites, olderFirst)
	claims[i].sites = sites
	if len(sites) == 0 {
		claims = slices.Delete(claims, i, i+1)
	}
	slices.SortStableFunc(claims, func(a, b routeClaim) int {
		return cmp.Compare(len(b.prefix), len(a.prefix))
	})
	return claims
}

func claimOf(claims []routeClaim, prefix string) int {
	return slices.IndexFunc(claims, func(c routeClaim) bool { return c.prefix == prefix })
}

// olderFirst orders rivals by their job's create index; the ID only makes it total.
func olderFirst(a, b *Site) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created),
		cmp.Compare(a.Group.ID().String(), b.Group.ID().String()))
}

// conflictsAt returns the conflicts over one key.
func (r *Routes) conflictsAt(key routeKey) []Conflict {
	shard := r.shards[maphash.String(r.seed, key.host)%routeShards].Load()
	if shard == nil {
		return nil
	}
	claims := (*shard)[key.host]
	i := claimOf(claims, key.prefix)
	if i < 0 {
		return nil
	}
	host := key.host
	if strings.HasPrefix(host, ".") {
		host = strings.TrimSuffix("*"+host, ".")
	}
	var conflicts []Conflict
	for _, loser := range claims[i].sites[1:] {
		conflicts = append(conflicts, Conflict{
			Host: host, PathPrefix: cmp.Or(key.prefix, "/"),
			Keeper: claims[i].sites[0].Group.ID(), Loser: loser.Group.ID(),
		})
	}
	return conflicts
}
