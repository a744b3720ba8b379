// Package drivertest is a Nomad agent for a driver's tests: it starts the real
// plugin binary and talks to it over the real socket, in the order and with the
// omissions of Nomad's client.
//
// It decides what every driver has to stand (Contract), and keeps what an agent
// would keep over a restart, no more. It never places, restarts or checks tasks.
package drivertest
