package decide

import (
	"strings"
	"time"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

// acknowledgesFor is how long after its replicas are frozen a primary that cannot be reached may acknowledge: its max lag, a
// second since the lag is counted in whole ones, and one since it counts once a second.
func acknowledgesFor(s *state.Snapshot) time.Duration { return s.MaxLag() + 2*time.Second }

// failover replaces a claimed primary that does not answer as such.
//
// A write that quorum replicas confirmed is on at least one of those frozen, once fewer than quorum are neither frozen nor dead
// (R + W > N: the frozen and the confirming overlap). And from then on the old primary cannot have another one confirmed.
func failover(s *state.Snapshot, now time.Time, p *plan.Plan) {
	v := judge(s, now, p)
	if !v.lost {
		return
	}
	if n := restartedAlone(s); n != nil {
		keepAlone(s, n, v, now, p)
		return
	}
	if len(s.Nodes) > 1 && bootRoles(s, nil, p) {
		return // or a process could start as a primary that is not the claimed one, while the Service still leads to it
	}
	bestEffort := s.Want.Spec.Failover.Policy == cachev1.FailoverBestEffort
	missing := missing(s, v, now)
	if len(missing) > 0 && (!bestEffort || len(candidates(s)) == 0 && heirs(s) == "") {
		waitFor(s, missing, v, now, p)
		if v.mayAcknowledge {
			pointBack(s, p)
		}
		return // and nobody is frozen for nothing
	}
	if id := heirs(s); id != "" {
		next := *s.Claim
		next.ReplicationID = id
		p.Add(plan.Safety, plan.WriteClaim{Old: s.Claim, New: next}, plan.CodeNewHistory, "the replicas of %s have a history that is not on record", s.Claim.Primary.Name)
	}
	if freezeAll(s, s.Claimed(), p) > 0 {
		return // offsets read before the freeze are stale; the next look decides
	}
	if v.mayAcknowledge && waits(s, now, p) {
		return
	}
	elect(s, v, now, p)
}

// elect promotes the best of those that are frozen.
func elect(s *state.Snapshot, v verdict, now time.Time, p *plan.Plan) {
	found := candidates(s)
	if len(found) == 0 {
		promoteOlder(s, v, now, p)
		return
	}
	best := bestCandidate(s, found, s.Claim)
	claim(s, best, now, best.Redis.ReplicationID, plan.CodeFailover, "primary %s is lost (%s); %s has the newest data",
		[]any{s.Claim.Primary.Name, v.why, best.Pod.Name}, p)
	promote(s, best, now, plan.CodeFailover, p)
}

// missing names those of whom too many are neither frozen, nor could be, nor certainly dead; nobody where enough are.
//
// Enough is: fewer than quorum are missing; or nobody is, and the primary is dead. (Without a quorum the primary acknowledges
// alone, so that its own death must be certain.) Where nobody is attached, or nobody that answers has the recorded data, every
// other pod counts: it may be the one that has them.
func missing(s *state.Snapshot, v verdict, now time.Time) []string {
	names, enough := unfrozen(s, now), int(s.Claim.Quorum)
	if len(s.Claim.Attached) == 0 || len(candidates(s)) == 0 {
		names, enough = allUnaccounted(s, now), 0
	}
	switch {
	case len(names) < enough:
		return nil
	case len(names) == 0 && !v.dead:
		return []string{s.Claim.Primary.Name}
	}
	return names
}

// unfrozen names the attached that can neither be frozen now nor are certainly dead.
func unfrozen(s *state.Snapshot, now time.Time) []string {
	var names []string
	for i := range s.Claim.Attached {
		pod := &s.Claim.Attached[i]
		if n := s.NodeByUID(pod.UID); (n == nil || !n.Answers() || n.Redis.Loading) && !s.EndedForCertain(pod, now) {
			names = append(names, pod.Name)
		}
	}
	return names
}

// allUnaccounted names every pod, attached or not, and whether it still exists or not, of which it is not known what it holds; the
// primary's too: a new process of it may have started by its boot role, and taken writes.
func allUnaccounted(s *state.Snapshot, now time.Time) []string {
	names := unaccounted(s, nil)
	for i := range s.Claim.Attached {
		if pod := &s.Claim.Attached[i]; s.NodeByUID(pod.UID) == nil && !s.EndedForCertain(pod, now) {
			names = append(names, pod.Name)
		}
	}
	return names
}

// waits tells whether the old primary may still acknowledge writes to clients on its side of a partition.
func waits(s *state.Snapshot, now time.Time, p *plan.Plan) bool {
	var last time.Time
	for i := range s.Claim.Attached {
		if n := s.NodeByUID(s.Claim.Attached[i].UID); n != nil && n.Answers() && n.FencedSince.After(last) {
			last = n.FencedSince
		}
	}
	left := acknowledgesFor(s) - now.Sub(last)
	if left <= 0 {
		return false
	}
	p.WakeWithin(left)
	return true
}

// pointBack lets attached nodes that were frozen follow the primary again, where there are too few of them to replace it: if it
// still runs, it needs them. Not one that is known to have gone: another process at its address may be empty. (It would let nobody
// in, having booted with its replication user off; that is the fence behind this rule.)
func pointBack(s *state.Snapshot, p *plan.Plan) {
	primary := s.Claimed()
	if primary == nil || !primary.IsClaimedProcess(s.Claim) {
		return
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n != primary && n.Answers() && n.Fenced() && s.IsAttached(n.Pod.UID) && n.HasData(s.Claim) {
			attach(n, primary, s.Claim, p)
		}
	}
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
func promoteOlder(s *state.Snapshot, v verdict, now time.Time, p *plan.Plan) {
	all := holders(s)
	if len(all) == 0 && !v.dead {
		p.Block(cachev1.ReasonPrimaryUnreachable, "primary %s is lost (%s), and no other pod holds data: waiting for it; if it is dead, annotate the resource with %s=%s",
			s.Claim.Primary.Name, v.why, cachev1.AnnotationConfirmDead, s.Claim.Primary.Name)
		return
	}
	if len(all) == 0 {
		bootstrap(s, now, plan.CodeDataLost, "primary "+s.Claim.Primary.Name+" is lost ("+v.why+") and no other pod holds data", p)
		return
	}
	record := commonHistory(all)
	if record == nil {
		p.Block(cachev1.ReasonAmbiguousHistory, "primary %s is lost (%s), and %s hold older data of different histories; delete the pods whose data may go",
			s.Claim.Primary.Name, v.why, strings.Join(podNames(all), ", "))
		return
	}
	best := bestCandidate(s, all, record)
	claim(s, best, now, best.Redis.ReplicationID, plan.CodeFailover, "primary %s is lost (%s), before anyone had copied from it; %s has the newest data that is left",
		[]any{s.Claim.Primary.Name, v.why, best.Pod.Name}, p)
	promote(s, best, now, plan.CodeFailover, p)
}

// worthTelling is how long a wait must last to be told.
const worthTelling = time.Second

// missingLook is when to look again at who is missing: that the pod of one has been gone for long enough wakes nobody.
const missingLook = 5 * time.Second

// waitFor tells who must answer before anyone is promoted.
func waitFor(s *state.Snapshot, missing []string, v verdict, now time.Time, p *plan.Plan) {
	if young := now.Sub(v.since); young < worthTelling {
		p.WakeWithin(worthTelling - young) // mostly the kubelet's word is about to come
		return
	}
	p.WakeWithin(missingLook)
	confirm := cachev1.AnnotationConfirmDead + "=" + s.Claim.Primary.Name
	if len(missing) == 1 && missing[0] == s.Claim.Primary.Name {
		p.Block(cachev1.ReasonPrimaryUnreachable,
			"primary %s is lost (%s), and it may still run and hold writes that nobody else has; if it is dead, annotate the resource with %s, or set spec.failover.policy to BestEffort",
			s.Claim.Primary.Name, v.why, confirm)
		return
	}
	p.Block(cachev1.ReasonReplicasUnaccounted,
		"primary %s is lost (%s), and %s may hold newer data: waiting for an answer; if dead, annotate the resource with %s=%s; "+
			"spec.failover.policy BestEffort goes on without, at the price of what only they have",
		s.Claim.Primary.Name, v.why, strings.Join(missing, ", "), cachev1.AnnotationConfirmDead, strings.Join(missing, ","))
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
			!n.Redis.Syncing && !n.Redis.Loading && !n.Blank()
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
func keepAlone(s *state.Snapshot, n *state.Node, v verdict, now time.Time, p *plan.Plan) {
	if missing := unaccounted(s, s.Claimed()); len(missing) > 0 {
		waitFor(s, missing, v, now, p)
		return
	}
	claim(s, n, now, n.Redis.ReplicationID, plan.CodeDataLost, "%s was alone and started anew by itself, without data (%s)", []any{n.Pod.Name, v.why}, p)
	// The line "replicaof no one" in a boot file leaves Redis trying to reach the fence once a second; this ends it.
	p.Add(plan.Safety, plan.Freeze{Node: plan.TargetOf(n)}, plan.CodeFreeze, "%s started as the primary by its boot role", n.Pod.Name)
	promote(s, n, now, plan.CodeDataLost, p)
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
		if n := &s.Nodes[i]; n != except && !s.Accounted(n) {
			names = append(names, n.Pod.Name)
		}
	}
	return names
}
