// Package jobs decides how Nomad is asked: it reads the policy that a job group carries in
// its scaling block, finds and follows every group that opted in, scales a group to zero
// and back, takes the addresses of its allocations from their placement, and says in words
// why a wake failed.
//
// It never decides when a group sleeps or wakes (package idle does), never judges whether a
// target is ready (package healthgate does), never sees a request, and keeps nothing on
// disk: what must outlive a restart is in Nomad.
package jobs
