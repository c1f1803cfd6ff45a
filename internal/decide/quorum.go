package decide

import (
	"time"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

// unheardFor is how long an attached pod that neither the primary nor the operator hears stays attached: a link may break and
// come back, and leaving costs a new password.
const unheardFor = 2 * time.Second

// strangers closes links of replicas that are not attached: an open link survives a changed password, and one that was just being
// made when it was changed may have come after the others were closed.
func strangers(s *state.Snapshot, primary *state.Node, p *plan.Plan) bool {
	known := map[string]bool{}
	for i := range s.Claim.Attached {
		known[s.Claim.Attached[i].IP] = true
	}
	var found []string
	for i := range primary.Redis.Replicas {
		if ip := primary.Redis.Replicas[i].IP; !known[ip] && !aboutToAttach(s, ip) {
			found = append(found, ip)
		}
	}
	if len(found) > 0 {
		p.Add(plan.Safety, plan.CloseReplicas{Node: plan.TargetOf(primary), IPs: found}, plan.CodeLeave, "%d replicas of %s are not on record", len(found), primary.Pod.Name)
	}
	return len(found) > 0
}

// aboutToAttach tells whether a replica that copies without being on record will be put on record now.
func aboutToAttach(s *state.Snapshot, ip string) bool {
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Pod.IP == ip && n.Attachable() {
			return true
		}
	}
	return false
}

// leave plans that attached pods without a part in the replication leave the record, with the quorum lowered to those that stay.
// It tells whether any do.
//
// All that are out leave at once when the primary counts fewer than the quorum, since it refuses writes then. Else only those
// leave whom nobody hears, who would be missed at a failover; one that answers the operator can be frozen.
func leave(s *state.Snapshot, primary *state.Node, now time.Time, p *plan.Plan) bool {
	short := s.Good(primary)+s.AboutToCount(primary, now) < s.Claim.Quorum
	step := plan.Leave{Node: plan.TargetOf(primary), Old: s.Claim, New: *s.Claim.DeepCopy(), MaxLag: s.MaxLag()}
	step.New.Attached = nil
	certain := true
	for i := range s.Claim.Attached {
		pod := &s.Claim.Attached[i]
		if s.Out(primary, pod, now) && (short || unheard(s, pod, now, p)) {
			step.IPs = append(step.IPs, pod.IP)
			certain = certain && s.EndedForCertain(pod, now)
			continue
		}
		step.New.Attached = append(step.New.Attached, *pod)
		if n := s.NodeByUID(pod.UID); n != nil && n.Answers() && s.Counts(primary, pod.IP) {
			step.Stay = append(step.Stay, plan.TargetOf(n))
		}
	}
	if len(step.IPs) == 0 {
		return false
	}
	step.New.Quorum = min(s.Claim.Quorum, s.Majority(), int32(len(step.Stay)))
	if !certain {
		step.New.ReplicationGeneration = nextGeneration(s, now)
	}
	p.Add(plan.Safety, step, plan.CodeLeave, "%d of %d attached pods have no part any more; %d of the others are in sync",
		len(step.IPs), len(s.Claim.Attached), len(step.Stay))
	return true
}

// unheard tells whether the operator does not hear an attached pod, that is out, either.
func unheard(s *state.Snapshot, pod *cachev1.ClaimedPod, now time.Time, p *plan.Plan) bool {
	n := s.NodeByUID(pod.UID)
	var since time.Time
	switch {
	case n == nil && s.EndedForCertain(pod, now):
		return true
	case n == nil:
		since = s.Departed[pod.UID].Since
	case n.Answers() || s.EndedForCertain(pod, now):
		return false
	default:
		since = n.LinkSince
	}
	if left := unheardFor - now.Sub(since); left > 0 {
		p.WakeWithin(left)
		return false
	}
	return true
}

// quorum keeps what the primary needs to acknowledge at what is on record, lowers both where fewer are wanted, and raises them
// where more are in sync: on the primary first, on record once those in sync have all that was acknowledged before.
func quorum(s *state.Snapshot, primary *state.Node, now time.Time, p *plan.Plan) {
	record := s.Claim.Quorum
	lower := min(record, s.Majority(), s.Good(primary)+s.AboutToCount(primary, now))
	inSync := s.InSync(primary)
	raise := min(s.Majority(), int32(len(inSync)))
	wanted := max(lower, raise)
	switch {
	case lower < record:
		p.Add(plan.Safety, plan.RecordQuorum{Epoch: s.Claim.Epoch, Quorum: lower}, plan.CodeQuorum, "%d replicas are in sync, and %d are wanted", s.Good(primary), s.Majority())
	case raise > record && primary.Redis.MinReplicas == raise && reached(inSync, primary.QuorumMark):
		p.Add(plan.Safety, plan.RecordQuorum{Epoch: s.Claim.Epoch, Quorum: raise}, plan.CodeQuorum, "%d replicas have all that %s acknowledged without them", len(inSync), primary.Pod.Name)
	case raise > record && primary.Redis.MinReplicas == raise:
		p.WakeWithin(catchUpLook)
	case raise < min(s.Majority(), s.Good(primary)):
		p.WakeWithin(catchUpLook) // offsets wake nobody
	}
	if primary.Redis.MinReplicas != wanted || primary.Redis.MaxLagSeconds != int32(s.MaxLag()/time.Second) {
		p.Add(plan.Safety, plan.SetQuorum{Node: plan.TargetOf(primary), Epoch: s.Claim.Epoch, Quorum: wanted, MaxLag: s.MaxLag()}, plan.CodeQuorum,
			"%s is to acknowledge what %d replicas can confirm", primary.Pod.Name, wanted)
	}
}

// reached tells whether all of the nodes have gone as far as that offset.
func reached(nodes []*state.Node, offset int64) bool {
	for _, n := range nodes {
		if n.Redis.Offset < offset {
			return false
		}
	}
	return true
}
