// Package sim runs the real operator (monitor, observe, decide, act, report, in the real reconcile loop, over the real Redis
// client) against a modelled Kubernetes and modelled Redis servers, in virtual time, under seeded random faults.
//
// What is modelled is what the operator must be able to rely on, and no more: the API server with its optimistic lock and its
// informers that lag behind, the Deployment's controller and the kubelets, and of Redis the replication as it is in
// replication.c (7.0): histories, partial and full copies, the fence, and the login of replicas.
//
// After each step of the world the invariants are checked (invariants.go). A schedule is a function of its seed: network and
// API calls take times that never coincide, so that the order of events does not depend on the machine. A seed that fails
// prints the command that replays it, and its transcript.
package sim
