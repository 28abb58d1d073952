// Package probe is about readiness, in both directions: it asks the processes
// whether they are ready and alive, and it serves graced's own answer to
// whoever routes traffic to the container.
//
// The serving half is a Server: readiness, liveness, startup, status and
// metrics on one port. It answers from a snapshot of the supervisor's state, so
// no probe waits for the supervisor, and none can hold it up. It also notes
// who asks for readiness (Askers), so that a shutdown can wait until all of
// them know.
package probe
