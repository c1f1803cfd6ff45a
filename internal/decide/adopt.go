package decide

import (
	"slices"
	"strings"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

// unclaimed decides where there is no claim: at the very beginning, or when status was lost. What is true is adopted;
// anything ambiguous is a condition and no action.
func unclaimed(s *state.Snapshot, p *plan.Plan) {
	if !s.EverHadRole() && len(selfDeclared(s)) == 0 {
		bootstrap(s, plan.CodeBootstrap, "no pod ever had a role", p)
		return
	}
	if names := unaccounted(s, nil); len(names) > 0 {
		p.Block(cachev1.ReasonReplicasUnaccounted, "there is no record of who is primary, and %s may know: waiting for an answer", strings.Join(names, ", "))
		return
	}
	switch primaries := selfDeclared(s); len(primaries) {
	case 0:
		adoptBest(s, p)
	case 1:
		n := primaries[0]
		claim(s, n, nextEpoch(s), n.Redis.ReplicationID, plan.CodeAdopt, "%s is the primary, and there was no record of it", []any{n.Pod.Name}, p)
	default:
		p.Block(cachev1.ReasonAmbiguousPrimary, "there is no record of who is primary, and %s all say they are; delete the pods whose data may go", strings.Join(podNames(primaries), ", "))
	}
}

// selfDeclared are the nodes that answer as primaries.
func selfDeclared(s *state.Snapshot) []*state.Node {
	var found []*state.Node
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Answers() && n.Redis.Role == state.RolePrimary {
			found = append(found, n)
		}
	}
	return found
}

// adoptBest makes the best of the nodes that hold data the primary, if all that do hold the same history.
func adoptBest(s *state.Snapshot, p *plan.Plan) {
	all := holders(s)
	if len(all) == 0 {
		bootstrap(s, plan.CodeDataLost, "no pod holds data any more", p)
		return
	}
	if freezeAll(s, nil, p) > 0 {
		return
	}
	record := commonHistory(all)
	if record == nil {
		p.Block(cachev1.ReasonAmbiguousHistory, "there is no record of who is primary, and %s hold data of different histories; delete the pods whose data may go",
			strings.Join(podNames(all), ", "))
		return
	}
	best := bestCandidate(all, record, newestRevision(s))
	claim(s, best, nextEpoch(s), record.ReplicationID, plan.CodeAdopt, "%s has the newest data, and there was no record of a primary", []any{best.Pod.Name}, p)
	promote(s, best, nextEpoch(s), plan.CodeAdopt, p)
}

// holders are the nodes that hold data, of whatever history.
func holders(s *state.Snapshot) []*state.Node {
	var found []*state.Node
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Answers() && !blank(n) && !n.Redis.Syncing && !n.Redis.Loading {
			found = append(found, n)
		}
	}
	return found
}

// commonHistory finds the replication id that all nodes carry or grew out of; nil where there is none.
func commonHistory(nodes []*state.Node) *cachev1.Claim {
	for _, n := range nodes {
		record := &cachev1.Claim{ReplicationID: n.Redis.ReplicationID}
		if !slices.ContainsFunc(nodes, func(other *state.Node) bool { return !other.HasData(record) }) {
			return record
		}
	}
	return nil
}

// blank tells whether a fenced node never copied anything: its offset is still where a process starts. (A node that copied has
// at least the offset of one PING, which its primary sends every second.)
func blank(n *state.Node) bool { return n.Fenced() && n.Redis.Offset <= blankOffset }

// blankOffset is the highest offset of a process that never copied anything.
const blankOffset = 1

// bootstrap makes the first node that answers the primary, where nobody has data.
func bootstrap(s *state.Snapshot, code, why string, p *plan.Plan) {
	var ready []*state.Node
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Answers() && !n.Redis.Loading && !n.Pod.Terminating {
			ready = append(ready, n)
		}
	}
	if len(ready) == 0 {
		return
	}
	n := bestCandidate(ready, nil, newestRevision(s))
	claim(s, n, nextEpoch(s), n.Redis.ReplicationID, code, "%s, and %s answers", []any{why, n.Pod.Name}, p)
	promote(s, n, nextEpoch(s), code, p)
}

// nextEpoch is above every epoch that is known, also to the memory of nodes where the claim was lost.
func nextEpoch(s *state.Snapshot) int64 {
	var highest int64
	if s.Claim != nil {
		highest = s.Claim.Epoch
	}
	for i := range s.Nodes {
		highest = max(highest, s.Nodes[i].ReplicationGeneration)
	}
	return highest + 1
}

// claim records a new primary.
func claim(s *state.Snapshot, n *state.Node, epoch int64, replicationID, code, format string, args []any, p *plan.Plan) {
	p.Add(plan.Safety, plan.WriteClaim{Old: s.Claim, New: cachev1.Claim{
		Epoch:         epoch,
		Primary:       cachev1.ClaimedPod{Name: n.Pod.Name, UID: n.Pod.UID, IP: n.Pod.IP, NodeName: n.Pod.NodeName},
		RunID:         n.Redis.RunID,
		ReplicationID: replicationID,
	}}, code, format, args...)
}

// promote makes a claimed node the primary and everything else follow it.
func promote(s *state.Snapshot, n *state.Node, epoch int64, code string, p *plan.Plan) {
	p.Add(plan.Safety, plan.Promote{Node: plan.TargetOf(n), Epoch: epoch}, code, "epoch %d is %s's", epoch, n.Pod.Name)
	install(s, n, epoch, p)
}

func podNames(nodes []*state.Node) []string {
	names := make([]string, 0, len(nodes))
	for _, n := range nodes {
		names = append(names, n.Pod.Name)
	}
	return names
}
