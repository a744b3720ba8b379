// Package wire turns the SDK's types into those of the protocol and back.
//
// It decides what is never left out of a message, because some agent would panic,
// and which gRPC status an error becomes. It never calls anything.
package wire
