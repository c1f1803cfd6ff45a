package decide

import (
	"cmp"
	"slices"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

// bestCandidate chooses whom to promote among nodes that may be. In this order:
//
//  1. the newest history: one that already grew out of the recorded one (its second replication id is the recorded id) before
//     one that still is the recorded one;
//  2. the highest offset in it;
//  3. a pod that is not being deleted;
//  4. a pod of the current revision, so that a rollout does not move the primary twice;
//  5. on a machine that is not cordoned;
//  6. the smallest UID, so that two operators choose alike.
//
// Offsets of nodes without a recorded history do not compare; with a nil claim, criteria 1 and 2 are left out.
func bestCandidate(s *state.Snapshot, nodes []*state.Node, c *cachev1.Claim) *state.Node {
	return slices.MinFunc(nodes, func(a, b *state.Node) int {
		if c != nil {
			if order := cmp.Or(
				-compareBool(a.Redis.ReplicationID2 == c.ReplicationID, b.Redis.ReplicationID2 == c.ReplicationID),
				-cmp.Compare(a.Redis.Offset, b.Redis.Offset),
			); order != 0 {
				return order
			}
		}
		return cmp.Or(
			compareBool(a.Pod.Terminating, b.Pod.Terminating),
			-compareBool(isCurrent(s, a), isCurrent(s, b)),
			compareBool(s.Machines[a.Pod.NodeName].Cordoned, s.Machines[b.Pod.NodeName].Cordoned),
			cmp.Compare(a.Pod.UID, b.Pod.UID),
		)
	})
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
