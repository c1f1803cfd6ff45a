// Package e2e tries the operator on a real Kubernetes, as its users do: they apply resources, write through Services, change
// and break things, and look at what becomes of it. Each file is one behaviour; each test has a namespace of its own.
//
// The operator must run in the cluster that KUBECONFIG names (make deploy). `make test-e2e` sees to all of that.
//
// Tests that take the operator away from everybody, or that need the machine for themselves, are not parallel: they run first.
package e2e
