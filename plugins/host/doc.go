// Package host is Nomad's side of the plugin protocol: it starts a plugin, calls it,
// finds it again after a restart, and ends it, as an agent does.
//
// It decides what an agent would make of an answer: which errors may be tried again,
// when a plugin counts as gone. It never calls anything by itself: the order of the
// calls is its user's. Package drivertest builds on it, and so may a development
// cluster.
package host
