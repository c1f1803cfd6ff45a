package decide

import (
	"cmp"
	"slices"
	"time"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

// move plans a switchover where the primary should be another node and one is fit to be. It tells whether it does.
//
// The old primary is demoted first: a crash at any point leaves one writable node or none. The Service is swapped before
// anything else of the move shows in Kubernetes, since kube-proxy waits up to a second between two changes.
func move(s *state.Snapshot, primary *state.Node, now time.Time, p *plan.Plan) bool {
	reason, message, target := whyMove(s, primary, p)
	if target == nil || movedWithin(s, betweenMoves, now, p) {
		return false
	}
	next := newClaim(s, target, target.Redis.ReplicationID, now)
	next.Attached, next.Quorum = nil, 0
	handOver := plan.HandOver{From: plan.TargetOf(primary), To: plan.TargetOf(target)}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n == target || !n.Attachable() {
			continue
		}
		next.Attached = append(next.Attached, claimedPod(n))
		if n != primary && n.CaughtUp(primary) {
			next.Quorum++
			handOver.Witnesses = append(handOver.Witnesses, plan.TargetOf(n))
		}
	}
	handOver.Hold, handOver.Others = holds(s, primary, target, next.Quorum, now)
	if !handOver.Hold && primary.Attachable() {
		next.Quorum++
	}
	next.Quorum = min(next.Quorum, s.Majority())
	sortByUID(next.Attached)
	if target.Pod.Annotations[annotationDeletionCost] != costPrimary { // a ReplicaSet may be about to choose pods to remove
		cost := costPrimary
		p.Add(plan.Safety, plan.PatchPod{Pod: target.Pod.Name, UID: target.Pod.UID, Annotations: map[string]*string{annotationDeletionCost: &cost}},
			plan.CodeMarkPod, "%s is about to be the primary", target.Pod.Name)
	}
	p.Add(plan.Safety, handOver, reason, "%s: %s is to take over from %s", message, target.Pod.Name, primary.Pod.Name)
	p.Add(plan.Safety, plan.WriteClaim{Old: s.Claim, New: next}, reason, "%s: %s takes over from %s", message, target.Pod.Name, primary.Pod.Name)
	p.Add(plan.Safety, plan.Promote{Node: plan.TargetOf(target), Epoch: next.Epoch, Quorum: next.Quorum, MaxLag: s.MaxLag()}, reason,
		"epoch %d is %s's", next.Epoch, target.Pod.Name)
	handedOver := *s
	handedOver.Nodes = slices.Clone(s.Nodes)
	for i := range handedOver.Nodes {
		if n := &handedOver.Nodes[i]; n.Pod.UID == primary.Pod.UID {
			n.DemotedAt = now
			if !handOver.Hold {
				n.Redis.Role, n.Redis.PrimaryHost, n.Redis.PrimaryPort = state.RoleReplica, state.FenceHost, state.FencePort
			}
		}
	}
	install(&handedOver, handedOver.NodeByUID(target.Pod.UID), &next, p)
	return true
}

// holds tells whether the old primary can hold its clients' writes until the proxies lead elsewhere, in place of refusing them: so
// many others follow the new one that it can do without the old one meanwhile, and every attached replica can be frozen; others are
// those besides the target.
func holds(s *state.Snapshot, primary, target *state.Node, following int32, now time.Time) (hold bool, others []plan.Target) {
	if primary.Attachable() && following < s.Majority() || len(unfrozen(s, now)) > 0 {
		return false, nil
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n != target && n != primary && n.Answers() && s.IsAttached(n.Pod.UID) {
			others = append(others, plan.TargetOf(n))
		}
	}
	return true, others
}

// resume lets the clients of the primary go on, where a switchover held their writes and did not come about: this operator knows that
// of itself; of another one it shows in replicas that are frozen, or in a primary that needs fewer than are on record. It tells
// whether that has to wait until the replicas are back, which the primary needs.
func resume(s *state.Snapshot, primary *state.Node, now time.Time, p *plan.Plan) (waits bool) {
	if !primary.Held() && primary.Redis.MinReplicas >= s.Claim.Quorum && !frozenByOther(s, primary) {
		return false
	}
	if left := resumeWithin - now.Sub(primary.DemotedAt); primary.Held() && s.Good(primary) < s.Claim.Quorum && left > 0 {
		p.WakeWithin(min(left, catchUpLook))
		return true
	}
	p.Add(plan.Safety, plan.Resume{Node: plan.TargetOf(primary), Epoch: s.Claim.Epoch}, plan.CodeResume, "a switchover away from %s may have begun, and did not come about", primary.Pod.Name)
	return false
}

// frozenByOther tells whether a replica is frozen that has the data and was not the primary before.
func frozenByOther(s *state.Snapshot, primary *state.Node) bool {
	return slices.ContainsFunc(s.Nodes, func(n state.Node) bool {
		return n.Pod.UID != primary.Pod.UID && n.Attachable() && n.Fenced() && n.DemotedAt.IsZero() && n.HasData(s.Claim) && s.IsAttached(n.Pod.UID)
	})
}

// whyMove tells why the primary should be another node, and which; nil where it should not, or none is fit.
func whyMove(s *state.Snapshot, primary *state.Node, p *plan.Plan) (reason, message string, target *state.Node) {
	fit := fitForPrimary(s, primary)
	best := (*state.Node)(nil)
	if len(fit) > 0 {
		best = fit[0]
	}
	switch {
	case primary.Pod.Terminating:
		if best == nil {
			p.Block(cachev1.ReasonNoHealthyReplica, "pod %s of the primary is being deleted, and no replica is in sync to take over: it serves for up to %d s more",
				primary.Pod.Name, resources.PreStopSeconds)
		}
		return plan.CodePodDeleted, "pod " + primary.Pod.Name + " is being deleted", best
	case shrinking(s):
		return "", "", nil
	case s.Want.SwitchoverTo != "":
		return asked(s, primary, fit, p)
	case best != nil && s.Machines[primary.Pod.NodeName].Cordoned && !s.Machines[best.Pod.NodeName].Cordoned:
		return plan.CodeCordoned, "node " + primary.Pod.NodeName + " is cordoned", best
	case best != nil && lastOfRollout(s, primary) && isCurrent(s, best):
		return plan.CodeRollout, "all other pods are of the new revision", best
	}
	return "", "", nil
}

// shrinking tells whether Kubernetes is about to choose pods to remove. It does so by their cost, which only the present primary
// has: a primary that moved now could be among them.
func shrinking(s *state.Snapshot) bool {
	w := s.Objects.Workload
	if w == nil || w.Spec.Replicas == nil {
		return false
	}
	if w.Status.ObservedGeneration < w.Generation {
		return true
	}
	var pods int32
	for i := range s.Nodes {
		switch n := &s.Nodes[i]; {
		case !isCurrent(s, n):
			return false // the one too many belongs to a rollout
		case !n.Pod.Terminating:
			pods++
		}
	}
	return pods > *w.Spec.Replicas
}

// asked answers a person's wish for another primary: it is tried once, and the annotation is removed either way.
func asked(s *state.Snapshot, primary *state.Node, fit []*state.Node, p *plan.Plan) (reason, message string, target *state.Node) {
	done := plan.ForgetSwitchover{Wanted: s.Want.SwitchoverTo}
	if s.Want.SwitchoverTo == primary.Pod.Name {
		p.Add(plan.Upkeep, done, plan.CodeSwitchoverDone, "%s is the primary", primary.Pod.Name)
		return "", "", nil
	}
	for _, n := range fit {
		if n.Pod.Name == s.Want.SwitchoverTo {
			return plan.CodeSwitchover, "a person asked for it", n
		}
	}
	why := "there is no such pod"
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Pod.Name == s.Want.SwitchoverTo {
			switch serves, reason := s.Serves(n); {
			case n.Pod.Terminating:
				why = "it is being deleted"
			case !serves:
				why = reason
			default: // it copies, and is behind by a moment
				p.WakeWithin(catchUpLook)
				return "", "", nil
			}
		}
	}
	p.Add(plan.Upkeep, done, plan.CodeSwitchoverRefused, "%s cannot become the primary: %s", s.Want.SwitchoverTo, why)
	return "", "", nil
}

// fitForPrimary are the replicas that may take over, the best first: in sync; then of the current revision, on a machine that is
// not cordoned, ready to Kubernetes, and the smallest UID.
func fitForPrimary(s *state.Snapshot, primary *state.Node) []*state.Node {
	fit := slices.DeleteFunc(s.InSync(primary), func(n *state.Node) bool { return n.Pod.Terminating })
	slices.SortFunc(fit, func(a, b *state.Node) int {
		return cmp.Or(
			-compareBool(isCurrent(s, a), isCurrent(s, b)),
			compareBool(s.Machines[a.Pod.NodeName].Cordoned, s.Machines[b.Pod.NodeName].Cordoned),
			-compareBool(a.Pod.Ready, b.Pod.Ready),
			cmp.Compare(a.Pod.UID, b.Pod.UID),
		)
	})
	return fit
}

// isCurrent tells whether a pod is of the revision that the workload asks for now.
func isCurrent(s *state.Snapshot, n *state.Node) bool {
	w := s.Objects.Workload
	return w == nil || n.Pod.Annotations[resources.AnnotationUserHash] == w.Annotations[resources.AnnotationUserHash]
}

// lastOfRollout tells whether the primary is the last pod of an older revision, and as many as are wanted of the current one
// serve. The primary moves then, before the last of them is called ready and Kubernetes takes the old pod.
func lastOfRollout(s *state.Snapshot, primary *state.Node) bool {
	if isCurrent(s, primary) {
		return false
	}
	var current int32
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n == primary {
			continue
		}
		if serves, _ := s.Serves(n); !isCurrent(s, n) || !serves {
			return false
		}
		current++
	}
	return current >= s.Want.Spec.Size
}

const (
	// proxiesFollow is how long a proxy may lead new connections to the old primary after the Service was swapped; the first
	// closing waits a moment, since most need some tens of milliseconds.
	proxiesFollow  = 1500 * time.Millisecond
	firstClosing   = 40 * time.Millisecond
	betweenClosing = 30 * time.Millisecond
	// betweenMoves is from one planned move to the next: until the proxies have followed the first, and a second after the labels that
	// change then.
	betweenMoves = proxiesFollow + 1200*time.Millisecond
	// resumeWithin is how long writes are held at most for replicas to come back, where a switchover did not come about.
	resumeWithin = time.Second
)

// closeOldPrimaries closes the clients of nodes that ceased to be the primary a moment ago, again and again until the proxies lead
// elsewhere: they would get READONLY for ever. One that held their writes is a replica from then on.
func closeOldPrimaries(s *state.Snapshot, primary *state.Node, now time.Time, p *plan.Plan) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n == primary || !n.Answers() || n.DemotedAt.IsZero() {
			continue
		}
		switch since := now.Sub(n.DemotedAt); {
		case since >= proxiesFollow && n.Held():
			demote(n, primary, "held its clients' writes while they were led elsewhere", p)
		case since >= proxiesFollow:
		case since < firstClosing || !s.SliceLeadsTo(primary):
			p.WakeWithin(max(firstClosing-since, betweenClosing))
		default:
			p.Add(plan.Upkeep, plan.CloseClients{Node: plan.TargetOf(n)}, plan.CodeCloseClients, "%s is not the primary any more", n.Pod.Name)
			p.WakeWithin(betweenClosing)
		}
	}
}

// movedWithin tells whether the primary moved less than that long ago. The proxies may still be following: labels and gates wait, and
// so does the next move, since kube-proxy delays what comes within a second of another change.
func movedWithin(s *state.Snapshot, d time.Duration, now time.Time, p *plan.Plan) bool {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if left := d - now.Sub(n.DemotedAt); !n.DemotedAt.IsZero() && n.Answers() && left > 0 {
			p.WakeWithin(left)
			return true
		}
	}
	return false
}
