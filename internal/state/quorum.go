package state

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	cachev1 "example.com/redis-operator/api/v1"
)

// AttachGrace is how long after it was told to follow a node may still be missing from its primary's list.
const AttachGrace = 500 * time.Millisecond

// MaxLag is min-replicas-max-lag: a replica that the primary has not heard for longer does not count for it. It is below the
// failover timeout, so that a primary that is cut off stops to acknowledge before another is made.
func (s *Snapshot) MaxLag() time.Duration { return s.Timeout() - 2*time.Second }

// Timeout is the silence after which a primary is suspected.
func (s *Snapshot) Timeout() time.Duration {
	return time.Duration(s.Want.Spec.Failover.TimeoutSeconds) * time.Second
}

// Majority is the quorum that is aimed at: with it, WAIT for as many replicas is safe against any one fault.
func (s *Snapshot) Majority() int32 { return s.Want.Spec.Size / 2 }

// IsAttached tells whether the claim lets the pod copy from the primary.
func (s *Snapshot) IsAttached(uid types.UID) bool {
	if s.Claim == nil {
		return false
	}
	for i := range s.Claim.Attached {
		if s.Claim.Attached[i].UID == uid {
			return true
		}
	}
	return false
}

// LinkTo is what the primary says of the replica at an address; nil if it lists none.
func (n *Node) LinkTo(ip string) *ReplicaLink {
	for i := range n.Redis.Replicas {
		if n.Redis.Replicas[i].IP == ip {
			return &n.Redis.Replicas[i]
		}
	}
	return nil
}

// Counts tells whether the primary counts the replica at an address among the good ones, and will for some time: a replica that
// stands still stays online to it, and ceases to count once its lag passes the limit.
func (s *Snapshot) Counts(primary *Node, ip string) bool {
	link := primary.LinkTo(ip)
	return link != nil && link.Online && !s.lags(link)
}

// healthyLag is above what an idle, healthy replica shows: it acknowledges once a second, and lags are whole seconds (measured: 1
// in up to 70 % of answers, never 2).
const healthyLag = 2 * time.Second

func (s *Snapshot) lags(link *ReplicaLink) bool {
	return time.Duration(link.LagSeconds)*time.Second >= max(s.MaxLag()-time.Second, healthyLag)
}

// Good is the number of attached replicas that the primary counts.
func (s *Snapshot) Good(primary *Node) int32 {
	var count int32
	for i := range s.Claim.Attached {
		if s.Counts(primary, s.Claim.Attached[i].IP) {
			count++
		}
	}
	return count
}

// AboutToCount is the number of attached replicas that the primary does not count, and will within moments: they have its data, so
// they need not copy any, and are about to be told to follow, or just were.
func (s *Snapshot) AboutToCount(primary *Node, now time.Time) int32 {
	var count int32
	for i := range s.Claim.Attached {
		n := s.NodeByUID(s.Claim.Attached[i].UID)
		if n == nil || s.Counts(primary, n.Pod.IP) || !n.Attachable() || n.Redis.Syncing {
			continue
		}
		// One that was just attached has not said yet that it took over the primary's history.
		justNow := n.Follows(primary) && now.Sub(n.AttachedAt) < AttachGrace && !n.Blank()
		if justNow || !n.Follows(primary) && n.HasData(s.Claim) {
			count++
		}
	}
	return count
}

// Attachable tells whether a node can be told to follow, and should.
func (n *Node) Attachable() bool { return n.Answers() && !n.Redis.Loading && !n.Pod.Terminating }

// InSync are the attached replicas that are in sync by the primary's word and by their own.
func (s *Snapshot) InSync(primary *Node) []*Node {
	var found []*Node
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n != primary && n.Answers() && s.IsAttached(n.Pod.UID) && s.Counts(primary, n.Pod.IP) && n.CaughtUp(primary) {
			found = append(found, n)
		}
	}
	return found
}

// Out tells whether an attached pod has no part in the replication any more: it is certainly dead, or the primary does not list
// it, or has not heard it for almost as long as it may.
func (s *Snapshot) Out(primary *Node, pod *cachev1.ClaimedPod, now time.Time) bool {
	if link := primary.LinkTo(pod.IP); link != nil && !s.EndedForCertain(pod, now) {
		return link.Online && s.lags(link)
	}
	n := s.NodeByUID(pod.UID)
	switch {
	case n == nil:
		return true
	case n.Attachable() && !n.Follows(primary):
		return false // it is about to be told to
	}
	return now.Sub(n.AttachedAt) > AttachGrace
}

// EndedForCertain tells whether no process is left in an attached pod that could hold or take data: a new one in the same pod
// starts fenced and empty.
func (s *Snapshot) EndedForCertain(pod *cachev1.ClaimedPod, now time.Time) bool {
	n := s.NodeByUID(pod.UID)
	if n == nil {
		_, dead := s.Departed[pod.UID].certainlyDead(now)
		return dead || s.confirmed(pod.Name)
	}
	if s.confirmed(pod.Name) && (n.Link == LinkSilent || n.Link == LinkDenied) {
		return true
	}
	return n.Pod.Container.Ended || n.Answers() && n.Fenced() && n.Blank()
}

// confirmed tells whether a person vouches that a pod is dead.
func (s *Snapshot) confirmed(pod string) bool {
	for name := range strings.SplitSeq(s.Want.ConfirmedDead, ",") {
		if strings.TrimSpace(name) == pod {
			return true
		}
	}
	return false
}

// Blank tells whether the process has no data: it holds no key, and never copied from anyone. (A copy of a primary that has just
// begun a history may stand at offset 0; the offset of one that never copied is 0 or 1.)
func (n *Node) Blank() bool { return n.Redis.Offset <= 1 && !n.Redis.HasKeys }
