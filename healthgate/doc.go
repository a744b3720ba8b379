// Package healthgate decides whether a request may pass: it probes targets, keeps the
// gate of one group shut until a target of the current wake has answered, judges many
// targets at once, serves liveness and readiness, and orders a shutdown.
//
// It never decides when a group sleeps or wakes (package idle does), never forwards a
// request and knows nothing of Nomad. It uses the standard library only.
package healthgate
