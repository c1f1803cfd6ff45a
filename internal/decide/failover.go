package decide

import (
	"strings"
	"time"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

// failover replaces a claimed primary that does not answer as such.
//
// The primary acknowledges without waiting for replicas, so a write that some replica confirmed may be on any one of them.
// Hence, under the policy Safe: only when the primary is certainly dead, and only when every other node is frozen and asked.
// With size 3, primary dead and one replica unreachable, the write may be on the unreachable one alone.
func failover(s *state.Snapshot, now time.Time, p *plan.Plan) {
	why, mayReplace := giveUp(s, now, p)
	if !mayReplace {
		return
	}
	if n := restartedAlone(s); n != nil {
		claim(s, n, nextEpoch(s), n.Redis.ReplicationID, plan.CodeDataLost, "the only pod %s started anew by itself, without data (%s)", []any{n.Pod.Name, why}, p)
		// The line "replicaof no one" in a boot file leaves Redis trying to reach the fence once a second; this ends it.
		p.Add(plan.Safety, plan.Freeze{Node: plan.TargetOf(n)}, plan.CodeFreeze, "%s started as the primary by its boot role", n.Pod.Name)
		promote(s, n, nextEpoch(s), plan.CodeDataLost, p)
		return
	}
	if id := heirs(s); id != "" {
		next := *s.Claim
		next.ReplicationID = id
		p.Add(plan.Safety, plan.WriteClaim{Old: s.Claim, New: next}, plan.CodeNewHistory, "the replicas of %s have a history that is not on record", s.Claim.Primary.Name)
	}
	if freezeAll(s, s.Claimed(), p) > 0 {
		return // offsets read before the freeze are stale; the next look decides
	}
	var candidates []*state.Node
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Answers() && n.HasData(s.Claim) && !n.IsClaimedProcess(s.Claim) {
			candidates = append(candidates, n)
		}
	}
	missing := unaccounted(s, s.Claimed())
	bestEffort := s.Want.Spec.Failover.Policy == cachev1.FailoverBestEffort
	if len(missing) > 0 && (!bestEffort || len(candidates) == 0) {
		p.Block(cachev1.ReasonReplicasUnaccounted,
			"primary %s is lost (%s), and %s may hold newer data: waiting for an answer; spec.failover.policy BestEffort goes on without, at the price of what only they have",
			s.Claim.Primary.Name, why, strings.Join(missing, ", "))
		return
	}
	if len(candidates) == 0 {
		bootstrap(s, plan.CodeDataLost, "primary "+s.Claim.Primary.Name+" is lost ("+why+") and no other pod holds data", p)
		return
	}
	best := bestCandidate(candidates, s.Claim, newestRevision(s))
	epoch := nextEpoch(s)
	claim(s, best, epoch, s.Claim.ReplicationID, plan.CodeFailover, "primary %s is lost (%s); %s has the newest data",
		[]any{s.Claim.Primary.Name, why, best.Pod.Name}, p)
	promote(s, best, epoch, plan.CodeFailover, p)
}

// heirs finds the replication id of the nodes that copied from the lost primary, if it is not the recorded one; else it is empty.
//
// A primary takes a new id, with no second one, when its first replica attaches (Redis' replication.c creates the backlog then).
// If it dies before that id is on record, only where its replicas copy from tells that they have its data; and that is gone
// once they are frozen.
func heirs(s *state.Snapshot) string {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		copied := n.Answers() && n.Redis.Role == state.RoleReplica && n.Redis.PrimaryHost == s.Claim.Primary.IP &&
			!n.Redis.Syncing && !n.Redis.Loading && n.Redis.Offset > blankOffset
		if copied && !n.HasData(s.Claim) {
			return n.Redis.ReplicationID
		}
	}
	return ""
}

// restartedAlone is the only node of a resource of size 1 that is a primary again by its boot role: there is nobody to ask.
func restartedAlone(s *state.Snapshot) *state.Node {
	if len(s.Nodes) != 1 {
		return nil
	}
	if n := &s.Nodes[0]; n.Answers() && n.Redis.Role == state.RolePrimary && !n.Redis.Loading && n.Pod.Annotations[cachev1.AnnotationBootRole] != "" {
		return n
	}
	return nil
}

// giveUp tells whether the claimed primary may be replaced, and why; if not, what is waited for is in the plan.
func giveUp(s *state.Snapshot, now time.Time, p *plan.Plan) (why string, mayReplace bool) {
	if why, dead := s.CertainlyDead(now); dead {
		return why, true
	}
	n := s.Claimed()
	if n == nil {
		p.WakeWithin(state.TerminationGrace)
		p.Block(cachev1.ReasonPrimaryUnreachable,
			"pod %s of the primary is gone, and whether its process ended is not certain; if it did, annotate the resource with %s=%s",
			s.Claim.Primary.Name, cachev1.AnnotationConfirmDead, s.Claim.Primary.Name)
		return "", false
	}
	if n.Link != state.LinkSilent {
		return "", false // not asked yet, loading, or it refuses the operator (said elsewhere)
	}
	timeout := time.Duration(s.Want.Spec.Failover.TimeoutSeconds) * time.Second
	if !n.Suspected(timeout, now) {
		p.WakeWithin(timeout - now.Sub(n.LinkSince))
		return "", false
	}
	if witness := stillHears(s, n); witness != nil {
		p.Block(cachev1.ReasonPrimaryUnreachable, "primary %s does not answer the operator, but %s still copies from it: it stays the primary", n.Pod.Name, witness.Pod.Name)
		return "", false
	}
	if s.Want.Spec.Failover.Policy == cachev1.FailoverBestEffort {
		return "silent for more than " + timeout.String(), true
	}
	p.Block(cachev1.ReasonPrimaryUnreachable,
		"primary %s is silent, and it may still run and hold writes that nobody else has; if it is dead, annotate the resource with %s=%s, or set spec.failover.policy to BestEffort",
		n.Pod.Name, cachev1.AnnotationConfirmDead, n.Pod.Name)
	return "", false
}

// stillHears finds a replica whose link to the node is up: then it is the operator that is cut off.
func stillHears(s *state.Snapshot, primary *state.Node) *state.Node {
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Answers() && n.CopiesFrom(primary) {
			return n
		}
	}
	return nil
}

// freezeAll plans to freeze every node that answers and is not yet frozen, but for one, and tells how many those are.
// A node that loads a file takes no such command; it is asked again once it has loaded.
func freezeAll(s *state.Snapshot, except *state.Node, p *plan.Plan) int {
	count := 0
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if !n.Answers() || n.Fenced() || n.Redis.Loading || (n == except && n.IsClaimedProcess(s.Claim)) {
			continue
		}
		p.Add(plan.Safety, plan.Freeze{Node: plan.TargetOf(n)}, plan.CodeFreeze, "%s must not move while the next primary is chosen", n.Pod.Name)
		count++
	}
	return count
}

// unaccounted names the nodes, but for one, of which it is not known what they hold.
func unaccounted(s *state.Snapshot, except *state.Node) []string {
	var names []string
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n != except && (!n.Accounted() || (n.Answers() && n.Redis.Loading)) {
			names = append(names, n.Pod.Name)
		}
	}
	return names
}
