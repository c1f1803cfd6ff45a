package decide

import (
	"cmp"
	"slices"
	"time"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

// newClaim is the record of a new primary, with all that will be attached to it.
//
// The quorum is in force from its first write on: as many of those attached as have all that it has, up to the majority. They are
// back within a millisecond, since they need not copy anything. One that lacks some of its data does not count before it has
// copied it: the writes that were confirmed before are on this one alone, and the quorum tells how many may be missed.
func newClaim(s *state.Snapshot, n *state.Node, replicationID string, now time.Time) cachev1.Claim {
	next := cachev1.Claim{
		Epoch: 1, Primary: claimedPod(n), RunID: n.Redis.RunID, ReplicationID: replicationID, ReplicationGeneration: nextGeneration(s, now),
	}
	if s.Claim != nil {
		next.Epoch, next.OperatorGeneration = s.Claim.Epoch+1, s.Claim.OperatorGeneration
	} else {
		next.OperatorGeneration = unusedOperatorGeneration(s)
	}
	followers := int32(0)
	for i := range s.Nodes {
		other := &s.Nodes[i]
		if other == n || !other.Attachable() {
			continue
		}
		next.Attached = append(next.Attached, claimedPod(other))
		if other.HasData(&next) && other.Redis.Offset >= n.Redis.Offset {
			followers++
		}
	}
	if n.Redis.Role != state.RolePrimary { // one that is adopted has acknowledged without, and may still
		next.Quorum = min(s.Majority(), followers)
	}
	sortByUID(next.Attached)
	return next
}

// sortByUID brings pods into an order that does not depend on how they were found.
func sortByUID(pods []cachev1.ClaimedPod) {
	slices.SortFunc(pods, func(a, b cachev1.ClaimedPod) int { return cmp.Compare(a.UID, b.UID) })
}

// unusedOperatorGeneration is one above all that any node has, where the record is lost and another operator may know them; or the
// one that all nodes boot with, where nobody ever took over.
func unusedOperatorGeneration(s *state.Snapshot) int64 {
	highest := int64(-1)
	for i := range s.Nodes {
		highest = max(highest, s.Nodes[i].OperatorGeneration)
	}
	if highest <= 0 && !s.EverHadRole() {
		return 0
	}
	return highest + 1
}

func claimedPod(n *state.Node) cachev1.ClaimedPod {
	return cachev1.ClaimedPod{Name: n.Pod.Name, UID: n.Pod.UID, IP: n.Pod.IP, NodeName: n.Pod.NodeName}
}

// nextGeneration is a generation of the replication password that was never used: where the record is lost, the time is above all
// of them.
func nextGeneration(s *state.Snapshot, now time.Time) int64 {
	if s.Claim == nil {
		return now.UnixMilli()
	}
	highest := s.Claim.ReplicationGeneration
	for i := range s.Nodes {
		highest = max(highest, s.Nodes[i].ReplicationGeneration)
	}
	return highest + 1
}

// claim records a new primary.
func claim(s *state.Snapshot, n *state.Node, now time.Time, replicationID, code, format string, args []any, p *plan.Plan) {
	step := plan.WriteClaim{Old: s.Claim, New: newClaim(s, n, replicationID, now)}
	if s.Claim != nil {
		step.LostAt = lostAt(s)
	}
	p.Add(plan.Safety, step, code, format, args...)
}

// lostAt is when the claimed primary was last heard, or its pod was last seen.
func lostAt(s *state.Snapshot) time.Time {
	if n := s.Claimed(); n != nil {
		return n.LinkSince
	}
	return s.Departed[s.Claim.Primary.UID].Since
}

// promote makes a node that was just claimed the primary and everything else follow it.
func promote(s *state.Snapshot, n *state.Node, now time.Time, code string, p *plan.Plan) {
	next := newClaim(s, n, n.Redis.ReplicationID, now)
	p.Add(plan.Safety, plan.Promote{Node: plan.TargetOf(n), Epoch: next.Epoch, Quorum: next.Quorum, MaxLag: s.MaxLag()}, code,
		"epoch %d is %s's", next.Epoch, n.Pod.Name)
	install(s, n, &next, p)
}
