package decide_test

import (
	"testing"
	"time"

	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

func TestANewLeaderTakesOverBeforeItChangesARole(t *testing.T) {
	stranger := func(s *state.Snapshot) { s.TakenOver = false }
	taken := func(s *state.Snapshot) { s.Claim.OperatorGeneration = 1 }
	cases{
		"first of all, of a resource whose primary is dead": {
			given: given.Replicated(2).Primary("a", given.Ended()).Replica("b", given.LinkDown(0)).With(stranger),
			want:  []string{"safety: take over with generation 1 (TakeOver)"},
		},
		"not of one that is settled": {
			given: given.Replicated(2).Primary("a").Replica("b").With(stranger),
			want:  nothing,
		},
		"not to let replicas in as they were, or to lead the Service": {
			given: given.Replicated(2).Primary("a", given.LetIn(0)).Replica("b").With(stranger),
			want:  []string{"safety: open a for its replicas (OpenReplication)"},
		},
		"then it locks the other out of each node, before anything else": {
			given: given.Replicated(2).Primary("a", given.Ended()).Replica("b", given.LinkDown(0)).With(taken),
			want: []string{
				"safety: lock other operators out of b, by generation 1 (TakeOver)",
				"safety: freeze b (Freeze)",
			},
		},
		"a node that boots later is locked before it gets a role": {
			given: given.Replicated(2).Primary("a", inGeneration(1)).Started("b").With(taken),
			want: []string{
				"safety: lock other operators out of b, by generation 1 (TakeOver)",
				"safety: record as attached b (Attach)",
				"safety: attach b to a (Attach)",
			},
		},
		"one that was overtaken leaves roles alone for a while": {
			given: given.Replicated(2).Primary("a", given.Ended()).Replica("b", given.LinkDown(0)).With(stranger).With(overtaken(9 * time.Second)),
			want:  nothing,
		},
		"and no longer": {
			given: given.Replicated(2).Primary("a", given.Ended()).Replica("b", given.LinkDown(0)).With(stranger).With(overtaken(10 * time.Second)),
			want:  []string{"safety: take over with generation 1 (TakeOver)"},
		},
	}.run(t)
}

func overtaken(since time.Duration) func(*state.Snapshot) {
	return func(s *state.Snapshot) { s.OvertakenAt = given.Now.Add(-since) }
}

func inGeneration(generation int64) given.Option {
	return func(n *state.Node) { n.OperatorGeneration = generation }
}
