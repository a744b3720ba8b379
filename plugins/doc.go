// Package plugins serves a Nomad task driver as a plugin: Nomad's own protocol, 1.6
// to 2.0, without Nomad's code.
//
// It decides how a plugin's process behaves towards the agent that has started it:
// what stands on stdout, how it logs, which signals it survives, and that nothing
// happens before the agent says so. It never knows what a task is: that is the
// driver's, an implementation of drivers.Driver.
//
// The example is a whole driver. Packages beside it: drivers, what a driver has to
// answer; hclspec, the shape of its configuration; host, the other side of the
// protocol; drivertest, an agent for a driver's tests.
package plugins
