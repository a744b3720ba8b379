// Package hclspec describes the `config` blocks that a plugin takes, and reads what
// Nomad makes of them.
//
// It decides whether a description is one that Nomad will accept (Validate), and
// whether a configuration fits a Go struct (Decode). It never parses HCL: Nomad
// does that, by the description, and sends the result in msgpack.
package hclspec
