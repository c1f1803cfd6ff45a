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
	missing := unaccounted(s, s.Claimed())
	bestEffort := s.Want.Spec.Failover.Policy == cachev1.FailoverBestEffort
	if n := restartedAlone(s); n != nil {
		keepAlone(s, n, missing, why, p)
		return
	}
	if len(s.Nodes) > 1 && bootRoles(s, nil, p) {
		return // or a process could start as a primary that is not the claimed one, while the Service still leads to it
	}
	if id := heirs(s); id != "" {
		if len(missing) > 0 && !bestEffort {
			waitFor(s, missing, why, p)
			return // those missing may have what is on record; and what is frozen does not tell any more whose heir it is
		}
		next := *s.Claim
		next.ReplicationID = id
		p.Add(plan.Safety, plan.WriteClaim{Old: s.Claim, New: next}, plan.CodeNewHistory, "the replicas of %s have a history that is not on record", s.Claim.Primary.Name)
	}
	if freezeAll(s, s.Claimed(), p) > 0 {
		return // offsets read before the freeze are stale; the next look decides
	}
	candidates := candidates(s)
	if len(missing) > 0 && (!bestEffort || len(candidates) == 0) {
		waitFor(s, missing, why, p)
		return
	}
	if len(candidates) == 0 {
		promoteOlder(s, now, why, p)
		return
	}
	best := bestCandidate(candidates, s.Claim, newestRevision(s))
	epoch := nextEpoch(s)
	claim(s, best, epoch, s.Claim.ReplicationID, plan.CodeFailover, "primary %s is lost (%s); %s has the newest data",
		[]any{s.Claim.Primary.Name, why, best.Pod.Name}, p)
	promote(s, best, epoch, plan.CodeFailover, p)
}

// candidates are the nodes that answer and have data of the recorded history.
func candidates(s *state.Snapshot) []*state.Node {
	var found []*state.Node
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Answers() && n.HasData(s.Claim) && !n.IsClaimedProcess(s.Claim) {
			found = append(found, n)
		}
	}
	return found
}

// promoteOlder promotes, where nobody has the recorded history, the best of those that have an older one: a primary may die
// before anyone copied from it. Only where there is no data at all, not even at a primary that may come back, an empty node begins.
func promoteOlder(s *state.Snapshot, now time.Time, why string, p *plan.Plan) {
	all := holders(s)
	if _, dead := s.CertainlyDead(now); len(all) == 0 && !dead {
		p.Block(cachev1.ReasonPrimaryUnreachable, "primary %s is lost (%s), and no other pod holds data: waiting for it; if it is dead, annotate the resource with %s=%s",
			s.Claim.Primary.Name, why, cachev1.AnnotationConfirmDead, s.Claim.Primary.Name)
		return
	}
	if len(all) == 0 {
		bootstrap(s, plan.CodeDataLost, "primary "+s.Claim.Primary.Name+" is lost ("+why+") and no other pod holds data", p)
		return
	}
	record := commonHistory(all)
	if record == nil {
		p.Block(cachev1.ReasonAmbiguousHistory, "primary %s is lost (%s), and %s hold older data of different histories; delete the pods whose data may go",
			s.Claim.Primary.Name, why, strings.Join(podNames(all), ", "))
		return
	}
	best, epoch := bestCandidate(all, record, newestRevision(s)), nextEpoch(s)
	claim(s, best, epoch, record.ReplicationID, plan.CodeFailover, "primary %s is lost (%s), before anyone had copied from it; %s has the newest data that is left",
		[]any{s.Claim.Primary.Name, why, best.Pod.Name}, p)
	promote(s, best, epoch, plan.CodeFailover, p)
}

// waitFor tells who must answer before anyone is promoted.
func waitFor(s *state.Snapshot, missing []string, why string, p *plan.Plan) {
	p.Block(cachev1.ReasonReplicasUnaccounted,
		"primary %s is lost (%s), and %s may hold newer data: waiting for an answer; spec.failover.policy BestEffort goes on without, at the price of what only they have",
		s.Claim.Primary.Name, why, strings.Join(missing, ", "))
}

// heirs finds the replication id of the nodes that copied from the lost primary, if it is not the recorded one; else it is empty.
//
// Where any node has the recorded history, nobody is an heir: a primary whose history is known to others does not change it.
// One with another history was then told to follow the primary and never got through, and what it has is older.
//
// A primary takes a new id, with no second one, when its first replica attaches (Redis' replication.c creates the backlog then).
// If it dies before that id is on record, only where its replicas copy from tells that they have its data; and that is gone
// once they are frozen.
func heirs(s *state.Snapshot) string {
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.HasData(s.Claim) && !n.IsClaimedProcess(s.Claim) {
			return ""
		}
	}
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

// restartedAlone is a node that is a primary again by its boot role, where nobody else has data: it was the only one, and has
// taken writes since, for all we know. (There may be more pods by now, and its boot role may be taken back: it may have happened
// while the operator was away or cut off.)
func restartedAlone(s *state.Snapshot) *state.Node {
	var found *state.Node
	for i := range s.Nodes {
		switch n := &s.Nodes[i]; {
		case found == nil && n.Answers() && n.Redis.Role == state.RolePrimary && !n.Redis.Loading &&
			(n.Pod.UID == s.Claim.Primary.UID || n.Pod.Annotations[cachev1.AnnotationBootRole] != ""):
			found = n
		case n.HasData(s.Claim):
			return nil
		}
	}
	return found
}

// keepAlone lets a node that restarted alone go on as the primary, once every other node has been asked; it serves meanwhile.
func keepAlone(s *state.Snapshot, n *state.Node, missing []string, why string, p *plan.Plan) {
	if len(missing) > 0 {
		waitFor(s, missing, why, p)
		return
	}
	claim(s, n, nextEpoch(s), n.Redis.ReplicationID, plan.CodeDataLost, "%s was alone and started anew by itself, without data (%s)", []any{n.Pod.Name, why}, p)
	// The line "replicaof no one" in a boot file leaves Redis trying to reach the fence once a second; this ends it.
	p.Add(plan.Safety, plan.Freeze{Node: plan.TargetOf(n)}, plan.CodeFreeze, "%s started as the primary by its boot role", n.Pod.Name)
	promote(s, n, nextEpoch(s), plan.CodeDataLost, p)
}

// giveUp tells whether the claimed primary may be replaced, and why; if not, what is waited for is in the plan.
func giveUp(s *state.Snapshot, now time.Time, p *plan.Plan) (why string, mayReplace bool) {
	if why, dead := s.CertainlyDead(now); dead {
		return why, true
	}
	timeout := time.Duration(s.Want.Spec.Failover.TimeoutSeconds) * time.Second
	bestEffort := s.Want.Spec.Failover.Policy == cachev1.FailoverBestEffort
	n := s.Claimed()
	if n == nil {
		return absent(s, now, timeout, p)
	}
	if n.Link != state.LinkSilent && n.Link != state.LinkRefused {
		return "", false // not asked yet, loading, or it refuses the operator (said elsewhere)
	}
	if since := now.Sub(n.LinkSince); since < timeout {
		p.WakeWithin(timeout - since)
		return "", false
	}
	if witness := s.StillHears(n); witness != nil {
		p.Block(cachev1.ReasonPrimaryUnreachable, "primary %s does not answer the operator, but %s still copies from it: it stays the primary", n.Pod.Name, witness.Pod.Name)
		return "", false
	}
	if bestEffort {
		return "silent for more than " + timeout.String(), true
	}
	p.Block(cachev1.ReasonPrimaryUnreachable,
		"primary %s is silent, and it may still run and hold writes that nobody else has; if it is dead, annotate the resource with %s=%s, or set spec.failover.policy to BestEffort",
		n.Pod.Name, cachev1.AnnotationConfirmDead, n.Pod.Name)
	return "", false
}

// absent decides about a primary whose pod is gone without certainty that its process is.
func absent(s *state.Snapshot, now time.Time, timeout time.Duration, p *plan.Plan) (why string, mayReplace bool) {
	since := now.Sub(s.Departed[s.Claim.Primary.UID].Since)
	if s.Want.Spec.Failover.Policy == cachev1.FailoverBestEffort {
		if since >= timeout {
			return "its pod has been gone for more than " + timeout.String(), true
		}
		p.WakeWithin(timeout - since)
		return "", false
	}
	// What is left of it, since any look in between ends an earlier wake; after it, the machine is asked again as often.
	p.WakeWithin(state.TerminationGrace - since%state.TerminationGrace + time.Millisecond)
	p.Block(cachev1.ReasonPrimaryUnreachable,
		"pod %s of the primary is gone, and whether its process ended is not certain; if it did, annotate the resource with %s=%s, or set spec.failover.policy to BestEffort",
		s.Claim.Primary.Name, cachev1.AnnotationConfirmDead, s.Claim.Primary.Name)
	return "", false
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
