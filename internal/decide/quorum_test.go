package decide_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

// lags makes the primary say that it has not heard the replica for so many seconds.
func lags(replica string, seconds int64) func(*state.Snapshot) {
	return func(s *state.Snapshot) {
		s.Claimed().LinkTo(given.IP(replica)).LagSeconds = seconds
	}
}

func needs(m int32) func(*state.Snapshot) {
	return func(s *state.Snapshot) { s.Claimed().Redis.MinReplicas = m }
}

func unlisted(replica string) func(*state.Snapshot) {
	return func(s *state.Snapshot) {
		primary := s.Claimed()
		var kept []state.ReplicaLink
		for _, link := range primary.Redis.Replicas {
			if link.IP != given.IP(replica) {
				kept = append(kept, link)
			}
		}
		primary.Redis.Replicas = kept
	}
}

func TestQuorum(t *testing.T) {
	three := func() *given.Cluster { return given.Replicated(3).Primary("a").Replica("b").Replica("c") }
	cases{
		"is half of the size, on record and at the primary": {three(), nothing},
		"is raised at the primary first": {
			given: three().Attached(0, "b", "c"),
			want:  []string{"safety: set quorum of a to 1 (Quorum)"},
		},
		"and on record once all in sync have what was acknowledged without them": {
			given: three().Attached(0, "b", "c").With(needs(1)),
			want:  []string{"safety: record quorum 1 (Quorum)"},
		},
		"not before": {
			given: three().Attached(0, "b", "c").With(needs(1)).With(func(s *state.Snapshot) { s.Claimed().QuorumMark = 1001 }),
			want:  nothing,
		},
		"is not raised by replicas that are not in sync": {
			given: given.Replicated(3).Primary("a").Replica("b", given.Offset(1)).Replica("c", given.Offset(1)).Attached(0, "b", "c"),
			want:  nothing,
		},
		"is lowered on record first, with the size": {
			given: given.Replicated(2).Primary("a").Replica("b").Replica("c").Replica("d").Attached(2, "b", "c", "d"),
			want:  []string{"safety: record quorum 1 (Quorum)", "safety: set quorum of a to 1 (Quorum)"},
		},
		"is put right where somebody changed it": {
			given: three().With(needs(0)),
			want:  []string{"safety: let the clients of a go on (Resume)", "safety: set quorum of a to 1 (Quorum)"},
		},
		"with the lag that goes with the timeout": {
			given: three().With(func(s *state.Snapshot) { s.Claimed().Redis.MaxLagSeconds = 10 }),
			want:  []string{"safety: set quorum of a to 1 (Quorum)"},
		},
		"a replica that copies everything anew does not count": {
			given: given.Replicated(2).Primary("a").Replica("b", given.Syncing(), given.GateClosed()).Attached(1, "b"),
			want:  []string{"safety: record quorum 0 (Quorum)", "safety: set quorum of a to 0 (Quorum)"},
		},
		"one that was told to follow a moment ago is waited for": {
			given: given.Replicated(2).Primary("a").Replica("b", given.LinkDown(0), attachedFor(400*time.Millisecond)).Attached(1, "b"),
			want:  nothing,
		},
		"though the history that it said it has is the one before": {
			given: given.Replicated(2).Primary("a").Replica("b", given.LinkDown(0), attachedFor(400*time.Millisecond), given.Data(given.Older, "")).Attached(1, "b"),
			want:  nothing,
		},
		"but no longer than that": {
			given: given.Replicated(2).Primary("a").Replica("b", given.LinkDown(0), attachedFor(600*time.Millisecond)).Attached(1, "b"),
			want:  []string{"safety: let all but nobody leave, with quorum 0 (Leave)"},
		},
		"and not one that has nothing": {
			given: given.Replicated(2).Primary("a").Replica("b", given.LinkDown(0), attachedFor(400*time.Millisecond), given.Data("own-b", ""), given.Offset(1)).Attached(1, "b"),
			want:  []string{"safety: record quorum 0 (Quorum)", "safety: set quorum of a to 0 (Quorum)"},
		},
	}.run(t)
}

func attachedFor(d time.Duration) given.Option {
	return func(n *state.Node) { n.AttachedAt = given.Now.Add(-d) }
}

func TestWhoLeaves(t *testing.T) {
	two := func(options ...given.Option) *given.Cluster {
		return given.Replicated(2).Primary("a").Replica("b", options...)
	}
	alone := []string{"safety: let all but nobody leave, with quorum 0 (Leave)"}
	cases{
		"the only replica, when the primary does not list it: it refuses writes":      {two().With(unlisted("b")), alone},
		"and when it stands still, before the primary ceases to count it":             {two().With(lags("b", 2)), alone},
		"not when it is a little late":                                                {two().With(lags("b", 1)), nothing},
		"not one of two, as long as the other is enough and it can be frozen":         {given.Replicated(3).Primary("a").Replica("b").Replica("c", given.LinkDown(time.Minute), given.GateClosed()), nothing},
		"one of two that nobody hears":                                                {given.Replicated(3).Primary("a").Replica("b").Replica("c", given.Silent(2*time.Second), given.GateClosed()).With(unlisted("c")), []string{"safety: let all but b leave, with quorum 1 (Leave)"}},
		"not for a moment":                                                            {given.Replicated(3).Primary("a").Replica("b").Replica("c", given.Silent(1900*time.Millisecond)).With(unlisted("c")), nothing},
		"not one that the operator alone does not hear":                               {given.Replicated(3).Primary("a").Replica("b").Replica("c", given.Silent(2*time.Second)), nothing},
		"one whose pod is gone for certain":                                           {given.Replicated(3).Primary("a").Replica("b").Attached(1, "b", "c").Departed(state.Departed{}).With(departed("c", true)), []string{"safety: let all but b leave, with quorum 1 (Leave)"}},
		"one whose pod has been gone for a while":                                     {given.Replicated(3).Primary("a").Replica("b").Attached(1, "b", "c").With(departed("c", false)), []string{"safety: let all but b leave, with quorum 1 (Leave)"}},
		"both at once, with nobody in sync":                                           {given.Replicated(3).Primary("a").Replica("b").Replica("c").With(unlisted("b")).With(unlisted("c")), alone},
		"not one that the primary may not list yet, since it was just told to follow": {two(attachedFor(400 * time.Millisecond)).With(unlisted("b")), nothing},
	}.run(t)
}

func departed(name string, ended bool) func(*state.Snapshot) {
	return func(s *state.Snapshot) {
		s.Departed = map[types.UID]state.Departed{given.UID(name): {Since: given.Now.Add(-3 * time.Second), Ended: ended}}
	}
}

func TestAStrangerIsClosed(t *testing.T) {
	cases{
		"a link of nobody that is on record": {
			given: given.Replicated(1).Primary("a").With(func(s *state.Snapshot) {
				s.Claimed().Redis.Replicas = []state.ReplicaLink{{IP: "10.9.9.9", Port: 6379, Online: true}}
			}),
			want: []string{"safety: close links of 10.9.9.9 at a (Leave)"},
		},
		"one that is about to be recorded stays": {
			given: given.Replicated(2).Primary("a").Replica("b").Attached(0),
			want:  []string{"safety: record as attached b (Attach)", "safety: attach b to a (Attach)"},
		},
	}.run(t)
}
