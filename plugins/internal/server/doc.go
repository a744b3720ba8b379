// Package server answers Nomad's calls by means of a Driver.
//
// It decides what the protocol demands and no driver should have to remember: which
// fields are never left out, which errors are none, what stays open for life, what
// is refused before the driver is configured. It never keeps anything of a task.
package server
