// Package drivertest is a Nomad agent for a driver's tests: it starts the real
// plugin binary and talks to it over the real socket, in the order and with the
// omissions of Nomad's client.
//
// It decides what every driver has to stand (Contract): each call in each state a task may
// be in, calls in any order (Storm), restarts and crashes of agent and plugin between any
// two calls and in their midst; and that nothing is left behind: no process, socket or
// open file. It keeps what an agent would keep over a restart, no more. It never places,
// restarts or checks tasks.
package drivertest
