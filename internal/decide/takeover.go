package decide

import (
	"time"

	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

// overtakenRest is how long an operator that was overtaken leaves roles alone: it is about to hear that it leads no more. Two that
// both believe they lead would otherwise take over from each other without end.
const overtakenRest = 10 * time.Second

// takeOver puts what must come first before the plan of an operator that has not changed a role of this resource yet.
//
// The leader before it may have sent a command that arrives late, or not know that it was overtaken. So the operator's user gets a
// new password on every node, and its other connections are closed, before the first role changes. An operator that changes
// nothing takes nothing over.
func takeOver(s *state.Snapshot, now time.Time, p *plan.Plan) {
	if s.Claim == nil || len(p.Lanes[plan.Safety].Steps) == 0 {
		return
	}
	if !s.TakenOver {
		if left := overtakenRest - now.Sub(s.OvertakenAt); !s.OvertakenAt.IsZero() && left > 0 {
			p.Lanes[plan.Safety].Steps = nil
			p.WakeWithin(left)
			return
		}
		if changesRoles(p) {
			p.Lanes[plan.Safety].Steps = nil
			p.Add(plan.Safety, plan.TakeOver{Old: s.Claim, Generation: s.Claim.OperatorGeneration + 1}, plan.CodeTakeOver,
				"another operator may have been the last to change a role")
		}
		return
	}
	var first plan.Plan
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Answers() && n.OperatorGeneration != s.Claim.OperatorGeneration {
			first.Add(plan.Safety, plan.SetOperatorPassword{Node: plan.TargetOf(n), Generation: s.Claim.OperatorGeneration}, plan.CodeTakeOver,
				"%s lets in whoever knows an older password", n.Pod.Name)
		}
	}
	p.Lanes[plan.Safety].Steps = append(first.Lanes[plan.Safety].Steps, p.Lanes[plan.Safety].Steps...)
}

// changesRoles tells whether a plan does anything that a late command of another operator could undo or cross.
func changesRoles(p *plan.Plan) bool {
	for _, step := range p.Lanes[plan.Safety].Steps {
		switch step.Action.(type) {
		case plan.PatchPod, plan.OpenReplication, plan.PointService:
		default:
			return true
		}
	}
	return false
}
