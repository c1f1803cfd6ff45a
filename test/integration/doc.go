// Package integration tests the whole operator against a real API server, real Kubernetes controllers and real Redis processes.
//
// What is real: kube-apiserver, etcd, kube-controller-manager (deployments, garbage collection, endpoint slices, disruption
// budgets), redis-server, and the operator, which runs in the test's process by the same wiring as in cmd/main.go. What is
// played: scheduler and kubelet (kubelet_test.go), since a test wants to kill a process at a chosen moment.
//
// The tests run in network and process namespaces of their own (isolation_test.go): pods have addresses that Kubernetes
// accepts, which the loopback's are not, and nothing outlives a test, however it ends.
package integration
