// Package healthgate decides whether a request may pass: it probes targets, keeps the
// gate of one group shut until a target of the current wake has answered, judges many
// targets at once, serves liveness and readiness, and orders a shutdown.
//
// It never decides when a group sleeps or wakes (package idle does), never forwards a
// request and knows nothing of Nomad. It uses the standard library only.
//
// # Which part to use
//
//   - [Gate] stands before one group. It is armed anew for every wake, and what an earlier
//     wake has found counts for nothing: a waiter is released only by a target of the
//     current generation that has passed its probe.
//   - [Prober] is the pace under the gate: milliseconds while a target starts, the
//     configured interval once it runs, ever longer for what never comes up.
//   - [Probe] is one question, made from a [ProbeConfig]: tcp, http, grpc or exec.
//   - [Judge] asks many targets at once and says Up, Busy, Hung, Dead or Unknown of each.
//
// Whatever cannot be known fails closed: a probe that died, a verdict that nobody wrote, an
// answer that came after its generation had ended never let a request pass.
package healthgate
