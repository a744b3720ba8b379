package idle

import (
	"container/heap"
	"time"
)

// deadlines orders the groups that have one, the earliest first. A sleeping group is not
// among them. It belongs to the loop's goroutine.
type deadlines []*Group

// put moves the group to where its deadline belongs, in or out.
func (d *deadlines) put(g *Group) {
	none := g.machine.due.IsZero() || g.gone
	switch {
	case none && g.slot > 0:
		heap.Remove(d, g.slot-1)
	case none:
	case g.slot > 0:
		heap.Fix(d, g.slot-1)
	default:
		heap.Push(d, g)
	}
}

// next returns the earliest deadline; zero: none.
func (d deadlines) next() time.Time {
	if len(d) == 0 {
		return time.Time{}
	}
	return d[0].machine.due
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].machine.due.Before(d[j].machine.due) }

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].slot, d[j].slot = i+1, j+1
}

func (d *deadlines) Push(x any) {
	g := x.(*Group)
	*d = append(*d, g)
	g.slot = len(*d)
}

func (d *deadlines) Pop() any {
	last := len(*d) - 1
	g := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	g.slot = 0
	return g
}
