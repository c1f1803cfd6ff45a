package state

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	cachev1 "example.com/redis-operator/api/v1"
)

// NodeByUID finds a node by its pod's UID.
func (s *Snapshot) NodeByUID(uid types.UID) *Node {
	for i := range s.Nodes {
		if s.Nodes[i].Pod.UID == uid {
			return &s.Nodes[i]
		}
	}
	return nil
}

// Claimed is the node that the claim names; nil where there is no claim, or no such pod any more.
func (s *Snapshot) Claimed() *Node {
	if s.Claim == nil {
		return nil
	}
	return s.NodeByUID(s.Claim.Primary.UID)
}

// Primary is the claimed node, if it answers as the primary that the claim means; else nil.
func (s *Snapshot) Primary() *Node {
	if n := s.Claimed(); n != nil && n.Answers() && n.IsClaimedProcess(s.Claim) && n.Redis.Role == RolePrimary {
		return n
	}
	return nil
}

// Serving is the primary, if the Service leads to it; else nil.
func (s *Snapshot) Serving() *Node {
	n := s.Primary()
	if n == nil || !s.SliceLeadsTo(n) {
		return nil
	}
	return n
}

// SliceLeadsTo tells whether the Service's EndpointSlice holds this node, on the wanted port, and nothing else.
func (s *Snapshot) SliceLeadsTo(n *Node) bool {
	slice := s.Objects.PrimarySlice
	if slice == nil || len(slice.Endpoints) != 1 || len(slice.Endpoints[0].Addresses) != 1 || len(slice.Ports) != 1 {
		return false
	}
	port := slice.Ports[0].Port
	return slice.Endpoints[0].Addresses[0] == n.Pod.IP && port != nil && *port == n.Pod.RedisPort
}

// Answers tells whether the node's Redis answers the operator now.
func (n *Node) Answers() bool { return n.Link == LinkUp && n.Redis.RunID != "" }

// IsClaimedProcess tells whether this is the very server process that the claim names.
func (n *Node) IsClaimedProcess(c *cachev1.Claim) bool {
	return c != nil && n.Pod.UID == c.Primary.UID && n.Redis.RunID == c.RunID
}

// Fenced tells whether the node copies from nobody and serves nobody: as it boots, or frozen by the operator.
func (n *Node) Fenced() bool {
	return n.Redis.Role == RoleReplica && n.Redis.PrimaryHost == FenceHost && n.Redis.PrimaryPort == FencePort
}

// Held tells whether the node still says that it is the primary, and this operator holds its clients' writes while they are led
// to another one.
func (n *Node) Held() bool { return n.Redis.Role == RolePrimary && !n.DemotedAt.IsZero() }

// Follows tells whether the node is told to copy from that one.
func (n *Node) Follows(primary *Node) bool {
	return n.Redis.Role == RoleReplica && n.Redis.PrimaryHost == primary.Pod.IP && n.Redis.PrimaryPort == primary.Pod.RedisPort
}

// CopiesFrom tells whether the node follows that one, its link is up, and it is past the first copy.
func (n *Node) CopiesFrom(primary *Node) bool {
	return n.Follows(primary) && n.Redis.LinkUp && !n.Redis.Syncing && !n.Redis.Loading
}

// HasData tells whether the node holds data of the claimed history or of one that grew out of it.
//
// A fresh process has a replication id of its own making; a replica takes its primary's id with the first copy, and a promoted
// one keeps the old id as its second (psync2, Redis' replication.c). A node in the middle of a full copy has neither the
// old data nor all of the new.
func (n *Node) HasData(c *cachev1.Claim) bool {
	if c == nil || c.ReplicationID == "" || n.Redis.Syncing || n.Redis.Loading {
		return false
	}
	return n.Redis.ReplicationID == c.ReplicationID || n.Redis.ReplicationID2 == c.ReplicationID
}

// CaughtUp tells whether the node copies from that primary and has reached what the primary had written a moment
// (one answer) ago. Comparing with the newest offset would never hold under load: the two answers are not of one instant.
func (n *Node) CaughtUp(primary *Node) bool {
	if !n.CopiesFrom(primary) {
		return false
	}
	mark := primary.Redis.Offset
	if primary.Redis.PreviousOffset >= 0 {
		mark = primary.Redis.PreviousOffset
	}
	return n.Redis.Offset >= mark
}

// TerminationGrace is how long a pod that is deleted may still run: its grace period, and some seconds for the kubelet to act.
const TerminationGrace = 45 * time.Second

// CertainlyDead tells whether nothing can be left of the process that the claim names, and why.
//
// A pod object that disappears proves nothing by itself: it may have been force-deleted while its machine was cut off.
func (s *Snapshot) CertainlyDead(now time.Time) (why string, dead bool) {
	c := s.Claim
	if c == nil {
		return "", false
	}
	n := s.Claimed()
	if s.confirmed(c.Primary.Name) && (n == nil || n.Link == LinkSilent || n.Link == LinkDenied) {
		return "a person confirmed that it is dead", true // of one that answers, the word is an old one
	}
	if n == nil {
		return s.Departed[c.Primary.UID].certainlyDead(now)
	}
	switch {
	case n.Pod.Container.Ended:
		return "its container ended (" + n.Pod.Container.LastEnd + ")", true
	case n.Answers() && n.Redis.RunID != c.RunID:
		return "its server started anew", true
	case s.PrimaryEnded && !n.Answers():
		return "its container ended, and was started anew", true
	}
	return "", false
}

// StillHears finds a replica that heard the claimed primary within d: then it is the operator that is cut off from it.
func (s *Snapshot) StillHears(d time.Duration, now time.Time) *Node {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Pod.UID == s.Claim.Primary.UID || !n.Answers() || n.Redis.Role != RoleReplica || n.Redis.PrimaryHost != s.Claim.Primary.IP || !n.Redis.LinkUp {
			continue
		}
		if heard := n.Heard.Add(-time.Duration(n.Redis.LastHeardSeconds) * time.Second); now.Sub(heard) < d {
			return n
		}
	}
	return nil
}

func (d Departed) certainlyDead(now time.Time) (why string, dead bool) {
	switch {
	case d.Ended:
		return "its process ended and its pod is gone", true
	case d.Machine == NodeHealthGone:
		return "its pod and its machine are gone", true
	case d.Machine == NodeHealthReady && !d.Since.IsZero() && now.Sub(d.Since) > TerminationGrace:
		return "its pod has long been gone from a machine that reports", true
	}
	return "", false
}

// NeverRan tells whether the node cannot hold data, since no Redis of it has run yet.
func (n *Node) NeverRan() bool {
	c := n.Pod.Container
	return n.Heard.IsZero() && !c.Running && c.Restarts == 0 && c.LastEnd == ""
}

// Accounted tells whether the operator knows what the node holds: it answers, or nothing of it can be left or be there yet, or a
// person says so.
func (s *Snapshot) Accounted(n *Node) bool {
	if n.Answers() {
		return !n.Redis.Loading
	}
	return n.NeverRan() || n.Pod.Container.Ended || n.Link == LinkRefused || s.confirmed(n.Pod.Name)
}

// EverHadRole tells whether any pod was ever given a role. Where none was, there is no data anywhere.
func (s *Snapshot) EverHadRole() bool {
	for i := range s.Nodes {
		if s.Nodes[i].Pod.Labels[cachev1.LabelRole] != "" {
			return true
		}
	}
	return false
}

// Serves tells whether the node serves its role with its data: the gate's rule. The second answer is why not.
func (s *Snapshot) Serves(n *Node) (bool, string) {
	primary := s.Primary()
	switch {
	case !n.Answers():
		return false, n.whySilent()
	case primary == nil:
		return false, "there is no primary"
	case n == primary, n.Held(): // it follows as soon as its clients are gone
		return true, ""
	case !n.Follows(primary):
		return false, "it does not follow the primary yet"
	case n.Redis.Syncing || n.Redis.Loading:
		return false, "it is copying the primary's data"
	case !n.Redis.LinkUp:
		return false, "its link to the primary is down"
	case !n.Pod.InSync && !n.CaughtUp(primary):
		// Asked once, for the gate to open. Later a node is behind every time that its last answer is older than the
		// primary's last two, and says nothing by it.
		return false, "it has not caught up with the primary"
	}
	return true, ""
}

// whySilent words why the node's Redis does not answer: as the kubelet tells it, if the container does not run.
func (n *Node) whySilent() string {
	switch c := n.Pod.Container; {
	case n.Pod.NodeName == "":
		return "it is not scheduled yet"
	case !c.Running && c.Waiting != "":
		return "its container does not run (" + c.Waiting + ")"
	case !c.Running:
		return "its container does not run"
	}
	return "its Redis does not answer (" + n.Link.String() + ")"
}

// SettledReplicas is the number of nodes that serve their role, to us and to the probe of the kubelet.
func (s *Snapshot) SettledReplicas() int32 {
	var count int32
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if ok, _ := s.Serves(n); ok && n.Pod.ContainersReady && n.Pod.InSync && !n.Pod.Terminating {
			count++
		}
	}
	return count
}
