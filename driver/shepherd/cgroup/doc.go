// Package cgroup makes a task's cgroups, limits, freezes, kills and measures them, in
// cgroup v1, v2 and hybrid mode, by reading and writing their files and by nothing else.
//
// It never mounts anything, and never removes a directory that it, or Nomad for this task,
// has not made.
package cgroup
