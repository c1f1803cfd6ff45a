//go:build e2e

package e2e

import "testing"

// TestRestricted: the pods satisfy the strictest level of Pod Security.
func TestRestricted(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "pod-security.kubernetes.io/enforce", "restricted")
	p.started(p.redis("r", 2))
	p.answers(p.service("r", ""), "OK", "SET", "k", "v")
}
