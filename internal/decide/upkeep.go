package decide

import (
	"time"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

const (
	// annotationDeletionCost tells a ReplicaSet which pods to remove first: those with the lowest cost; none counts as 0.
	annotationDeletionCost = "controller.kubernetes.io/pod-deletion-cost"
	costPrimary            = "1000"

	// gateGrace is how long a node that served may cease to before its gate is closed: the freeze of a failover or a short
	// resync must not move every pod out of the Service for reads and back.
	gateGrace = 3 * time.Second
	// catchUpLook is when to look again at a replica that is about to have caught up.
	catchUpLook = 100 * time.Millisecond
)

// marks keeps the labels and annotations by which Kubernetes and people know a pod's role. Labels wait for the proxies to follow a
// move; the cost moves no pod in or out of a Service, and a ReplicaSet may be about to choose.
func marks(s *state.Snapshot, now time.Time, p *plan.Plan) {
	primary := s.Primary()
	if primary == nil {
		return
	}
	moving := movedWithin(s, proxiesFollow, now, p)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		role, cost := n.Pod.Labels[cachev1.LabelRole], ""
		switch {
		case n == primary:
			role, cost = cachev1.RolePrimary, costPrimary
		case role == cachev1.RolePrimary || n.Follows(primary) && opens(s, n):
			role = cachev1.RoleReplica
		}
		patch := plan.PatchPod{Pod: n.Pod.Name, UID: n.Pod.UID}
		if role != n.Pod.Labels[cachev1.LabelRole] && !moving {
			patch.Labels = map[string]*string{cachev1.LabelRole: &role}
		}
		if cost != n.Pod.Annotations[annotationDeletionCost] {
			patch.Annotations = map[string]*string{annotationDeletionCost: nil}
			if cost != "" {
				patch.Annotations[annotationDeletionCost] = &cost
			}
		}
		if patch.Labels != nil || patch.Annotations != nil {
			p.Add(plan.Upkeep, patch, plan.CodeMarkPod, "%s is %s", n.Pod.Name, role)
		}
	}
}

// opens tells whether the node's gate is open or is being opened now. A label that comes before costs a second: the kubelet
// looks at a pod again only once it has heard from the container runtime after the last look, which it asks once a second;
// so the gate has to come with, or before, the first change that makes it look.
func opens(s *state.Snapshot, n *state.Node) bool {
	serves, _ := s.Serves(n)
	return serves || n.Pod.InSync
}

// gates opens the readiness gate of a node that serves its role with its data, and closes that of one that ceased to.
// While there is no primary the gates stay: the replicas still have the data, and who ceased to serve shows afterwards.
func gates(s *state.Snapshot, now time.Time, p *plan.Plan) {
	primary := s.Primary()
	if primary == nil {
		return
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		serves, why := s.Serves(n)
		switch {
		case serves && !n.Pod.InSync:
			p.Add(plan.Upkeep, plan.SetGate{Pod: n.Pod.Name, UID: n.Pod.UID, InSync: true, Message: "serves its role with its data"},
				plan.CodeServes, "%s serves", n.Pod.Name)
		case serves || !n.Pod.InSync:
			if n.CopiesFrom(primary) && !serves {
				p.WakeWithin(catchUpLook)
			}
		case lostData(n) || ceasedFor(n, now) >= gateGrace:
			p.Add(plan.Upkeep, plan.SetGate{Pod: n.Pod.Name, UID: n.Pod.UID, InSync: false, Message: why},
				plan.CodeServesNot, "%s ceased to serve: %s", n.Pod.Name, why)
		default:
			p.WakeWithin(gateGrace)
		}
	}
}

// lostData tells whether the node answers and holds nothing of the data: it restarted, or copies everything anew. A node that
// was frozen keeps its data, so a failover closes no gate.
func lostData(n *state.Node) bool { return n.Answers() && (blank(n) || n.Redis.Syncing) }

// ceasedFor is how long a node has not served for want of a connection, ours or its own to the primary.
func ceasedFor(n *state.Node, now time.Time) time.Duration {
	if !n.Answers() {
		return now.Sub(n.LinkSince)
	}
	return time.Duration(n.Redis.LinkDownSeconds) * time.Second
}

// access makes the default user of every node what the resource asks for, live.
func access(s *state.Snapshot, p *plan.Plan) {
	if !s.Want.Access.SeedKnown || s.Want.Access.Missing != "" {
		return
	}
	hash := resources.AccessHash(s.Want.Access)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Answers() && n.AccessHash != hash {
			p.Add(plan.Upkeep, plan.SetAccess{Node: plan.TargetOf(n), DefaultHash: s.Want.Access.DefaultHash, Hash: hash},
				plan.CodeAccess, "it is not certain that %s asks for the right password", n.Pod.Name)
		}
	}
}
