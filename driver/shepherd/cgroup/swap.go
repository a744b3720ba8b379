package cgroup

// In cgroup v1 a task that has no swap of its own may be swapped out within its memory limit,
// which is for both together. In v2 the two are apart, and the limit of 0 that keeps it from
// taking more than its memory keeps it in memory as well, frozen too.

// swapWhileFrozen lets the kernel swap a frozen task out where it needs the room. It can
// grow no more, and once thawed it gets no more swap than it has by then.
func (g *Group) swapWhileFrozen(frozen bool) {
	if !g.swapless {
		return
	}
	limit := "0"
	if frozen {
		limit = "max"
	}
	// refused where swap is not accounted for: then it is not limited either
	_ = write(g.unified, "memory.swap.max", limit)
}
