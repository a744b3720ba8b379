// Package devnomad is a one-node Nomad in a single process: the cluster behind
// `doze demo` and behind the tests.
//
// It decides what Nomad would answer: the HTTP API on the types of nomad/api,
// with real index behaviour, an event stream, a scheduler for one node and a
// client that runs every task as a real process. It can be told to misbehave
// (see Faults). One contract suite runs against it and against a real agent;
// it is right only where both agree.
//
// It never persists anything, never federates, never isolates a task, and knows
// nothing about Doze. Only the time package tells it the time, and every
// goroutine of it ends with Close, so that it runs inside a synctest bubble
// when it is given a Pipe to listen on and an in-process Runner.
package devnomad
