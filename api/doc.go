// Package api is who talks to Doze. The Gate stands in the request path: it finds the group
// that a request is for, has it woken if it sleeps, holds the request (or answers with a
// small page) until a target is verified, and forwards it once. Control is the API for
// people and programs.
//
// It never decides when a group sleeps (package idle does) or whether a target is ready
// (package healthgate does), and it never talks to Nomad: awake groups are served from
// memory alone, so that no outage of the controller or of Nomad touches them.
package api
