// Package process runs tasks as plain processes of the machine: each in a session of its
// own, as its user, with its logs, and found again by the next process of the plugin.
//
// It decides what is the task's process and what only has its number by now. It never
// limits or isolates a task, and does not know how one has ended that a plugin's earlier
// process had started: a driver that has to know puts a process of its own between.
//
// The processes are those of drivers.Tasks[*process.Process]; the example of package plugins
// is a driver of them.
package process
