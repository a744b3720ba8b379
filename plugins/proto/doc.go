// Package proto holds Nomad's plugin protocol as protobuf files, one directory
// a package, and the Go code generated from them. What is on the wire (the names
// of packages, services, methods and of RecoverableError, and the numbers of
// fields) is Nomad's, 1.6 to 2.0; a test keeps it so.
//
// It decides nothing. Driver authors use plugins/drivers and never these types.
package proto

//go:generate go run ../internal/protogen
