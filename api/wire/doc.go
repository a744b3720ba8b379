// Package wire holds the JSON shapes of Doze's control API and the paths they live at,
// for the server (package api) and for every client.
//
// It decides nothing and talks to nobody: no method here does I/O, reads a clock or keeps
// state. Names are snake_case; every duration is a string that time.ParseDuration reads
// ("1.5s"), every time RFC 3339 in UTC with milliseconds; a field that is left out has the
// zero value that its comment explains. Unknown fields may be added at any time: readers
// ignore what they do not know.
package wire
