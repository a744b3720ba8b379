package jobs

import "reflect"

// maxShared is how many different policies are remembered: thousands of jobs made from one
// template differ in their routes alone.
const maxShared = 16

// sharedPolicies remembers the policies that were seen last, so that groups with equal
// ones, and equal probes, share them. The zero value is ready to use.
type sharedPolicies struct {
	kept   []*Policy
	oldest int
}

// take returns p without its routes, or an equal policy that was taken before.
func (s *sharedPolicies) take(p Policy) *Policy {
	p.Routes = nil
	for _, known := range s.kept {
		if known.equal(&p) {
			return known
		}
	}
	if len(s.kept) < maxShared {
		s.kept = append(s.kept, &p)
		return &p
	}
	s.kept[s.oldest] = &p
	s.oldest = (s.oldest + 1) % maxShared
	return &p
}

// equal compares everything that is set, probe and routes included.
func (p *Policy) equal(q *Policy) bool { return p == q || reflect.DeepEqual(p, q) }
