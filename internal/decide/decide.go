// Package decide turns a snapshot into a plan. It is pure: it reaches nothing, reads no clock and remembers nothing, so that
// every rule can be tried in a table and the simulation can run millions of decisions.
//
// The invariant it protects: a node with data is never told to copy from one without, as far as the snapshot can tell.
package decide

import (
	"time"

	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

// Decide makes the plan for a snapshot at a moment.
func Decide(s *state.Snapshot, now time.Time) plan.Plan {
	var p plan.Plan
	if s.Want.Deleting {
		release(s, &p)
		return p
	}
	if s.Want.Spec.Paused {
		return p
	}
	roles(s, now, &p)
	takeOver(s, now, &p)
	objects(s, &p)
	gates(s, now, &p)
	marks(s, now, &p)
	access(s, &p)
	return p
}
