package decide_test

import (
	"testing"
	"time"

	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

func TestMarks(t *testing.T) {
	cases{
		"a new primary and a new replica are marked": {
			given: given.Replicated(2).Primary("a", given.Role(""), given.Unmarked()).Replica("b", given.Role("")),
			want: []string{
				"upkeep: mark pod a: role=primary pod-deletion-cost=1000 (MarkPod)",
				"upkeep: mark pod b: role=replica (MarkPod)",
			},
		},
		"a former primary loses its marks, even before it follows": {
			given: given.Replicated(2).Claim("b", 2).Primary("b").Started("a", given.Silent(0), given.Role("primary"), costly),
			want:  []string{"upkeep: mark pod a: role=replica pod-deletion-cost- (MarkPod)"},
		},
		"a node that follows nobody yet has no role": {
			given: given.Replicated(2).Primary("a").Started("b", given.Silent(0)),
			want:  nothing,
		},
		"while there is no primary the marks stay": {
			given: given.Replicated(2).Primary("a", given.Silent(0), given.Unmarked()).Replica("b", given.Role("")),
			want:  nothing,
		},
	}.run(t)
}

func costly(n *state.Node) { n.Pod.Annotations["controller.kubernetes.io/pod-deletion-cost"] = "1000" }

func TestGates(t *testing.T) {
	opens := []string{"upkeep: set gate of b to true (Serves)"}
	closes := []string{"upkeep: set gate of b to false (ServesNot)"}
	closed := given.GateClosed()
	replica := func(options ...given.Option) *given.Cluster {
		return given.Replicated(2).Primary("a").Replica("b", options...)
	}
	cases{
		"the primary's opens once it serves": {
			given: given.Replicated(1).Primary("a", closed),
			want:  []string{"upkeep: set gate of a to true (Serves)"},
		},
		"a replica's opens at the offset that the primary had a moment ago":           {replica(closed, given.Offset(900)), opens},
		"a replica's stays shut below it":                                             {replica(closed, given.Offset(899)), nothing},
		"a replica's stays shut while it copies":                                      {replica(closed, given.Syncing()), nothing},
		"a replica's stays open while its link has been down for a moment":            {replica(given.LinkDown(2 * time.Second)), nothing},
		"and is shut when it has been down for longer":                                {replica(given.LinkDown(3 * time.Second)), closes},
		"a replica's stays open while it has been silent for a moment":                {replica(given.Silent(2 * time.Second)), nothing},
		"and is shut when it has been silent for longer":                              {replica(given.Silent(3 * time.Second)), closes},
		"a replica's is shut at once when it copies everything anew: it has lost all": {replica(given.Syncing()), closes},
		"that of a node that restarted is shut at once, and it is attached": {
			given: replica(given.Restarted()).Attached(0, "b"),
			want:  append([]string{"safety: attach b to a (Attach)"}, closes...),
		},
		"that of a frozen node stays open for the time of a failover": {
			given: given.Replicated(2).Primary("a").Frozen("b"),
			want:  []string{"safety: let the clients of a go on (Resume)", "safety: attach b to a (Attach)"},
		},
		"while there is no primary the gates stay": {
			given: given.Replicated(2).Primary("a", given.Silent(0)).Replica("b", given.LinkDown(time.Minute)),
			want:  nothing,
		},
	}.run(t)
}

func TestAccess(t *testing.T) {
	cases{
		"every node is told, unless it is known to be as asked": {
			given: given.Replicated(2).Primary("a", given.OtherAccess()).Replica("b"),
			want:  []string{"upkeep: set access of a (Access)"},
		},
		"a node that does not answer is told later": {
			given: given.Replicated(2).Primary("a").Replica("b", given.OtherAccess(), given.Silent(0)),
			want:  nothing,
		},
		"a new password is told to all, without a restart": {
			given: given.Replicated(2).Primary("a").Replica("b").With(func(s *state.Snapshot) {
				s.Want.Access.DefaultHash = "new"
			}),
			want: []string{
				"objects: apply Secret r-users (Differs)",
				"upkeep: set access of a (Access)",
				"upkeep: set access of b (Access)",
			},
		},
		"even without a primary": {
			given: given.Replicated(2).Primary("a", given.Silent(0)).Replica("b", given.OtherAccess()),
			want:  []string{"upkeep: set access of b (Access)"},
		},
		"nobody while the seed is not known": {
			given: given.Replicated(2).Started("b", given.OtherAccess()).With(noSeed),
			want:  []string{"objects: create the seed (Seed)"},
		},
	}.run(t)
}
