// Package shepherd is the small process that holds one task: its listening socket, its
// application, cgroup and logs, its exit status; and the client to it. The shepherd
// decides when its task freezes, parks and wakes, by package idle, and whether the
// application is ready, by package healthgate. It outlives whoever launched it.
//
// It never talks to Nomad, never restarts an application that ended by itself, and keeps
// nothing on disk but its socket and a short log.
package shepherd
