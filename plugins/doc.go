// Package plugins serves a Nomad task driver as a plugin: Nomad's own protocol, 1.6
// to 2.0, without Nomad's code.
//
// It decides how a plugin's process behaves towards the agent that has started it:
// what stands on stdout, how it logs, which signals it survives, and that nothing
// happens before the agent says so. It never knows what a task is: that is the
// driver's, an implementation of drivers.Driver.
//
// The example is a whole driver, in 60 lines. Packages beside it:
//
//   - drivers: what a driver is asked and may answer; drivers.Tasks keeps its tasks
//   - process: tasks that are processes, found again by the plugin's next process
//   - hclspec: the shape of configurations, and how they are read
//   - drivertest: an agent for a driver's tests, and all that a driver has to stand
//   - host: the other side of the protocol
//
// docs/plugins.md of this repository has how to begin, and what agents do that a driver
// would not expect.
package plugins
