package decide

import (
	"time"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

// roles fills the safety lane: who is primary, who follows, and where the Service leads.
func roles(s *state.Snapshot, now time.Time, p *plan.Plan) {
	if !s.Want.Access.SeedKnown {
		return // without it nobody can be spoken to
	}
	denied(s, p)
	if allGo(s, now, p) {
		release(s, p)
		return
	}
	if s.Claim == nil {
		unclaimed(s, now, p)
		return
	}
	if primary := s.Primary(); primary != nil {
		keep(s, primary, now, p)
		return
	}
	if n := s.Claimed(); n != nil && n.Answers() && n.IsClaimedProcess(s.Claim) && !n.Redis.Loading {
		p.Add(plan.Safety, plan.Promote{Node: plan.TargetOf(n), Epoch: s.Claim.Epoch, Quorum: s.Claim.Quorum, MaxLag: s.MaxLag()},
			plan.CodeFinishPromotion, "epoch %d names %s the primary, and it is not yet", s.Claim.Epoch, n.Pod.Name)
		install(s, n, s.Claim, p)
		return
	}
	failover(s, now, p)
}

// denied reports the nodes that refuse the operator's own user: it can do nothing for them.
func denied(s *state.Snapshot, p *plan.Plan) {
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Link == state.LinkDenied {
			p.Block(cachev1.ReasonAccessDenied, "pod %s refuses the operator's user; delete the pod, so that it starts with the rules in Secret %s",
				n.Pod.Name, resources.SecretName(s.Want.Key.Name))
		}
	}
}

// keep keeps the world around a primary that serves: boot roles first, since they decide what a restart does; then what it needs
// to acknowledge; then, if it is to move, that; then replicas.
func keep(s *state.Snapshot, primary *state.Node, now time.Time, p *plan.Plan) {
	bootRoles(s, primary, p)
	if primary.ReplicationGeneration != s.Claim.ReplicationGeneration {
		p.Add(plan.Safety, plan.OpenReplication{Node: plan.TargetOf(primary), Epoch: s.Claim.Epoch, Generation: s.Claim.ReplicationGeneration}, plan.CodeOpenReplication,
			"it is not certain that %s lets the replicas of generation %d in", primary.Pod.Name, s.Claim.ReplicationGeneration)
	}
	if strangers(s, primary, p) || leave(s, primary, now, p) {
		return // the next look goes on from what is then true
	}
	if !resume(s, primary, now, p) {
		quorum(s, primary, now, p)
		if move(s, primary, now, p) {
			return
		}
	}
	install(s, primary, s.Claim, p)
	closeOldPrimaries(s, primary, now, p)
}

// install leads the Service to the primary of a claim, attaches everyone else, and records its history.
//
// The history of a promoted node is known before it is on record, since it keeps the recorded one as its second. That of a
// primary without replicas is not (Redis gives it a new one when the first attaches), so it is recorded first.
//
// A node that was just promoted needs its quorum before it acknowledges: so many are attached before the first client is led there.
func install(s *state.Snapshot, primary *state.Node, c *cachev1.Claim, p *plan.Plan) {
	promoted := s.Claim != nil && s.Claim.Epoch == c.Epoch && primary.Redis.Role == state.RolePrimary
	first := 0
	if !promoted {
		first = attachKnown(s, primary, c, 0, int(c.Quorum), p)
	}
	leadService(s, primary, p)
	if promoted && c.ReplicationID != primary.Redis.ReplicationID && c.ReplicationID != primary.Redis.ReplicationID2 {
		recordHistory(s, primary, c, p)
	}
	attachKnown(s, primary, c, first, len(s.Nodes), p)
	attachOthers(s, primary, c, p)
	if !promoted || c.ReplicationID != primary.Redis.ReplicationID && c.ReplicationID == primary.Redis.ReplicationID2 {
		recordHistory(s, primary, c, p)
	}
}

// leadService makes the Service lead to the primary alone.
func leadService(s *state.Snapshot, primary *state.Node, p *plan.Plan) {
	if s.SliceLeadsTo(primary) {
		return
	}
	slice := resources.PrimarySlice(&s.Want, &primary.Pod)
	if mine(s, state.ObjectKey{Kind: "EndpointSlice", Name: slice.Name}, p) {
		p.Add(plan.Safety, plan.PointService{Pod: primary.Pod.Name, Slice: slice}, plan.CodeLeadService,
			"the Service does not lead to %s alone", primary.Pod.Name)
	}
}

// attachKnown lets nodes follow that are on record and have the data, but for the first so many and up to so many of them. It tells
// how many those are from the first one on.
func attachKnown(s *state.Snapshot, primary *state.Node, c *cachev1.Claim, from, to int, p *plan.Plan) (count int) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if !mustAttach(n, primary, c) || !isKnown(c, n) || count == to {
			continue
		}
		if count >= from {
			attach(n, primary, c, p)
		}
		count++
	}
	return count
}

func isKnown(c *cachev1.Claim, n *state.Node) bool { return isAttached(c, n) && n.HasData(c) }

// attachOthers lets every other node follow that should and does not, once it is on record.
func attachOthers(s *state.Snapshot, primary *state.Node, c *cachev1.Claim, p *plan.Plan) {
	var others []*state.Node
	var newcomers []cachev1.ClaimedPod
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if !mustAttach(n, primary, c) || isKnown(c, n) {
			continue
		}
		others = append(others, n)
		if !isAttached(c, n) {
			newcomers = append(newcomers, claimedPod(n))
		}
	}
	sortByUID(newcomers)
	if len(newcomers) > 0 {
		p.Add(plan.Safety, plan.RecordAttached{Epoch: c.Epoch, Pods: newcomers}, plan.CodeAttach, "%d pods are about to copy from %s", len(newcomers), primary.Pod.Name)
	}
	for _, n := range others {
		attach(n, primary, c, p)
	}
}

func recordHistory(_ *state.Snapshot, primary *state.Node, c *cachev1.Claim, p *plan.Plan) {
	p.Add(plan.Safety, plan.RecordHistory{Node: plan.TargetOf(primary), Epoch: c.Epoch}, plan.CodeNewHistory,
		"the replication id of %s is not on record", primary.Pod.Name)
}

// attach lets a node follow the primary of a claim. One that was a primary itself is fenced first and its clients are closed: they
// do not know that it is not any more.
func attach(n, primary *state.Node, c *cachev1.Claim, p *plan.Plan) {
	if n.Redis.Role == state.RolePrimary {
		demote(n, primary, "is a primary and not the claimed one", p)
	}
	p.Add(plan.Safety, plan.Attach{
		Node: plan.TargetOf(n), Primary: plan.TargetOf(primary), PrimaryIP: primary.Pod.IP, PrimaryPort: primary.Pod.RedisPort,
		Epoch: c.Epoch, Generation: c.ReplicationGeneration,
	}, plan.CodeAttach, "%s does not follow %s", n.Pod.Name, primary.Pod.Name)
}

// demote fences a primary that is to follow another, and tells how much of what it wrote goes.
func demote(n, primary *state.Node, why string, p *plan.Plan) {
	if bytes := discarded(n, primary); bytes > 0 {
		p.Add(plan.Safety, plan.Demote{Node: plan.TargetOf(n), Discards: bytes}, plan.CodeWritesDiscarded,
			"%s took writes after it was replaced: %d bytes of them are discarded", n.Pod.Name, bytes)
		return
	}
	p.Add(plan.Safety, plan.Demote{Node: plan.TargetOf(n)}, plan.CodeFreeze, "%s %s", n.Pod.Name, why)
}

// discarded is the number of bytes that an old primary wrote beyond where the new one's history branched off; 0 where that is
// not known.
func discarded(old, primary *state.Node) int64 {
	if primary.Redis.ReplicationID2 == "" || old.Redis.ReplicationID != primary.Redis.ReplicationID2 {
		return 0
	}
	return max(0, old.Redis.Offset-(primary.Redis.SecondOffset-1))
}

// mustAttach tells whether the node has to be told to follow the primary. One that follows already and cannot get through is
// told again only if it may have an old password.
func mustAttach(n, primary *state.Node, c *cachev1.Claim) bool {
	if n.Pod.UID == primary.Pod.UID || !n.Attachable() || n.Held() {
		return false
	}
	return !n.Follows(primary) || !isAttached(c, n) || (!n.Redis.LinkUp && !n.Redis.Syncing && n.ReplicationGeneration != c.ReplicationGeneration)
}

// isAttached tells whether the claim has the node among the attached, at its present address: a pod whose machine started anew may
// have another one, and its link to the primary is known by that.
func isAttached(c *cachev1.Claim, n *state.Node) bool {
	for i := range c.Attached {
		if c.Attached[i].UID == n.Pod.UID && c.Attached[i].IP == n.Pod.IP {
			return true
		}
	}
	return false
}

// bootRoles lets the only node of a resource of size 1 start as primary by itself, and takes that back from everyone before
// there is a second node: a primary that restarts empty must not be copied.
//
// Without a primary it is taken back from everyone. It tells whether anything changes.
func bootRoles(s *state.Snapshot, primary *state.Node, p *plan.Plan) (changes bool) {
	alone := s.Want.Spec.Size == 1 && len(s.Nodes) == 1
	for i := range s.Nodes {
		n := &s.Nodes[i]
		wanted := ""
		if alone && n == primary && !n.Pod.Terminating {
			wanted = cachev1.BootRolePrimary
		}
		if n.Pod.Annotations[cachev1.AnnotationBootRole] == wanted {
			continue
		}
		patch := plan.PatchPod{Pod: n.Pod.Name, UID: n.Pod.UID, Annotations: map[string]*string{cachev1.AnnotationBootRole: nil}}
		if wanted != "" {
			patch.Annotations[cachev1.AnnotationBootRole] = &wanted
		}
		p.Add(plan.Safety, patch, plan.CodeBootRole, "%s is alone: %t", n.Pod.Name, alone)
		changes = true
	}
	return changes
}

// othersComeWithin is how long after its pods were deleted others may not have been made in their place: mostly that takes
// milliseconds.
const othersComeWithin = 2 * time.Second

// allGo tells whether all pods are being deleted, and no others come: so it is where their namespace is.
func allGo(s *state.Snapshot, now time.Time, p *plan.Plan) bool {
	var last time.Time
	for i := range s.Nodes {
		pod := &s.Nodes[i].Pod
		if !pod.Terminating {
			return false
		}
		if pod.Deleted.After(last) {
			last = pod.Deleted
		}
	}
	left := othersComeWithin - now.Sub(last)
	p.WakeWithin(left)
	return len(s.Nodes) > 0 && left <= 0
}

// release lets the primary's pod end when the resource is being deleted, or all its pods are: it waits for another to take over, and
// none will.
func release(s *state.Snapshot, p *plan.Plan) {
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Pod.Terminating && n.Answers() && n.Redis.Role == state.RolePrimary {
			p.Add(plan.Safety, plan.Freeze{Node: plan.TargetOf(n)}, plan.CodeFreeze, "%s goes with its resource", n.Pod.Name)
		}
	}
}
