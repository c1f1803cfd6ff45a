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
	if s.Claim == nil {
		unclaimed(s, p)
		return
	}
	if primary := s.Primary(); primary != nil {
		keep(s, primary, p)
		return
	}
	if n := s.Claimed(); n != nil && n.Answers() && n.IsClaimedProcess(s.Claim) && !n.Redis.Loading {
		p.Add(plan.Safety, plan.Promote{Node: plan.TargetOf(n), Epoch: s.Claim.Epoch}, plan.CodeFinishPromotion,
			"epoch %d names %s the primary, and it is not yet", s.Claim.Epoch, n.Pod.Name)
		install(s, n, s.Claim.Epoch, p)
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

// keep keeps the world around a primary that serves: boot roles first, since they decide what a restart does; then replicas.
func keep(s *state.Snapshot, primary *state.Node, p *plan.Plan) {
	bootRoles(s, primary, p)
	if primary.ReplicationGeneration != s.Claim.Epoch {
		p.Add(plan.Safety, plan.OpenReplication{Node: plan.TargetOf(primary), Epoch: s.Claim.Epoch}, plan.CodeOpenReplication,
			"it is not certain that %s lets the replicas of epoch %d in", primary.Pod.Name, s.Claim.Epoch)
	}
	install(s, primary, s.Claim.Epoch, p)
}

// install leads the Service to the primary, records its history, and attaches everyone else, in this order: a replica may only
// copy a history that is on record, or a later failover would not know its copy for data.
func install(s *state.Snapshot, primary *state.Node, epoch int64, p *plan.Plan) {
	if !s.SliceLeadsTo(primary) {
		slice := resources.PrimarySlice(&s.Want, &primary.Pod)
		if mine(s, state.ObjectKey{Kind: "EndpointSlice", Name: slice.Name}, p) {
			p.Add(plan.Safety, plan.PointService{Pod: primary.Pod.Name, Slice: slice}, plan.CodeLeadService,
				"the Service does not lead to %s alone", primary.Pod.Name)
		}
	}
	if s.Claim == nil || s.Claim.Epoch != epoch || s.Claim.ReplicationID != primary.Redis.ReplicationID || primary.Redis.Role != state.RolePrimary {
		p.Add(plan.Safety, plan.RecordHistory{Node: plan.TargetOf(primary), Epoch: epoch}, plan.CodeNewHistory,
			"the replication id of %s is not on record", primary.Pod.Name)
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; mustAttach(n, primary, epoch) {
			p.Add(plan.Safety, plan.Attach{
				Node: plan.TargetOf(n), Primary: plan.TargetOf(primary), PrimaryIP: primary.Pod.IP, PrimaryPort: primary.Pod.RedisPort, Epoch: epoch,
			}, plan.CodeAttach, "%s does not follow %s", n.Pod.Name, primary.Pod.Name)
		}
	}
}

// mustAttach tells whether the node has to be told to follow the primary. One that follows already and cannot get through is
// told again only if it may have an old password.
func mustAttach(n, primary *state.Node, epoch int64) bool {
	if n.Pod.UID == primary.Pod.UID || !n.Answers() || n.Redis.Loading || n.Pod.Terminating {
		return false
	}
	return !n.Follows(primary) || (!n.Redis.LinkUp && !n.Redis.Syncing && n.ReplicationGeneration != epoch)
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
