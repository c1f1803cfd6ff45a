package decide

import (
	"slices"
	"strings"
	"time"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

// unclaimed decides where there is no claim: at the very beginning, or when status was lost. What is true is adopted;
// anything ambiguous is a condition and no action.
func unclaimed(s *state.Snapshot, now time.Time, p *plan.Plan) {
	if !s.EverHadRole() && len(selfDeclared(s)) == 0 {
		bootstrap(s, now, plan.CodeBootstrap, "no pod ever had a role", p)
		return
	}
	if names := unaccounted(s, nil); len(names) > 0 {
		p.Block(cachev1.ReasonReplicasUnaccounted, "there is no record of who is primary, and %s may know: waiting for an answer", strings.Join(names, ", "))
		return
	}
	switch primaries := successors(s, selfDeclared(s)); len(primaries) {
	case 0:
		adoptBest(s, now, p)
	case 1:
		n := primaries[0]
		claim(s, n, now, n.Redis.ReplicationID, plan.CodeAdopt, "%s is the primary, and there was no record of it", []any{n.Pod.Name}, p)
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

// successors are those of the primaries that no other one took over from: nobody has a history that grew out of theirs, with all that
// they have. (One that holds its clients' writes in a switchover still says that it is a primary.)
func successors(s *state.Snapshot, primaries []*state.Node) []*state.Node {
	return slices.DeleteFunc(slices.Clone(primaries), func(old *state.Node) bool {
		return slices.ContainsFunc(holders(s), func(next *state.Node) bool {
			return next.Redis.ReplicationID2 == old.Redis.ReplicationID && old.Redis.Offset < next.Redis.SecondOffset
		})
	})
}

// adoptBest makes the best of the nodes that hold data the primary, if all that do hold the same history.
func adoptBest(s *state.Snapshot, now time.Time, p *plan.Plan) {
	all := holders(s)
	if len(all) == 0 {
		bootstrap(s, now, plan.CodeDataLost, "no pod holds data any more", p)
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
	best := bestCandidate(s, all, record)
	claim(s, best, now, best.Redis.ReplicationID, plan.CodeAdopt, "%s has the newest data, and there was no record of a primary", []any{best.Pod.Name}, p)
	promote(s, best, now, plan.CodeAdopt, p)
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

// blank tells whether a fenced node never copied anything.
func blank(n *state.Node) bool { return n.Fenced() && n.Blank() }

// bootstrap makes the first node that answers the primary, where nobody has data.
func bootstrap(s *state.Snapshot, now time.Time, code, why string, p *plan.Plan) {
	var ready []*state.Node
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Answers() && !n.Redis.Loading && !n.Pod.Terminating {
			ready = append(ready, n)
		}
	}
	if len(ready) == 0 {
		return
	}
	n := bestCandidate(s, ready, nil)
	claim(s, n, now, n.Redis.ReplicationID, code, "%s, and %s answers", []any{why, n.Pod.Name}, p)
	promote(s, n, now, code, p)
}

func podNames(nodes []*state.Node) []string {
	names := make([]string, 0, len(nodes))
	for _, n := range nodes {
		names = append(names, n.Pod.Name)
	}
	return names
}
