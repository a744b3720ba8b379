// Package driver is Doze's task driver: Nomad starts it as a plugin, and it starts, finds
// again, stops and looks after tasks that can sleep in place.
//
// It decides what a task's config block means and what Nomad is told of a task. It never
// holds a task itself: each has a shepherd, a process of its own that outlives this one, and
// all that is known here of a running task can be asked of its shepherd. It writes nothing
// but the directory that the shepherds' sockets lie in, and that not before Nomad has
// configured it.
package driver
