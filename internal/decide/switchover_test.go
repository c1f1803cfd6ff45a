package decide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/redis-operator/internal/decide"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

// movesToB is the plan of a switchover from a to b, for a reason, where a holds its clients' writes.
func movesToB(reason string, more ...string) []string {
	plan := freezesA(reason, more...)
	plan[1] = "safety: hand over from a to b, holding writes (" + reason + ")"
	return plan
}

// freezesA is one where a is frozen. The first that follows does so before a client is led to b, where it is needed to acknowledge.
func freezesA(reason string, more ...string) []string {
	const led = "safety: lead the Service to b (LeadService)"
	plan := []string{
		"safety: mark pod b: pod-deletion-cost=1000 (MarkPod)",
		"safety: hand over from a to b (" + reason + ")",
		"safety: claim epoch 2 for b (" + reason + ")",
		"safety: promote b in epoch 2 (" + reason + ")",
	}
	if more[0] == recorded {
		return append(append(plan, led), more...)
	}
	return append(append(plan, more[0], led), more[1:]...)
}

const (
	aFollows = "safety: attach a to b (Attach)"
	cFollows = "safety: attach c to b (Attach)"
	recorded = "safety: record the history of b (NewHistory)"
)

func asked(pod string) func(*state.Snapshot) {
	return func(s *state.Snapshot) { s.Want.SwitchoverTo = pod }
}

// cordoned marks the machines of pods.
func cordoned(pods ...string) func(*state.Snapshot) {
	return func(s *state.Snapshot) {
		s.Machines = map[string]state.Machine{}
		for _, pod := range pods {
			s.Machines[s.NodeByUID(given.UID(pod)).Pod.NodeName] = state.Machine{Cordoned: true}
		}
	}
}

func TestWhenThePrimaryMoves(t *testing.T) {
	three := func(options ...given.Option) *given.Cluster {
		return given.Replicated(3).Primary("a", options...).Replica("b").Replica("c")
	}
	cases{
		"when its pod is being deleted; then it need not follow": {three(given.Terminating()), movesToB("PrimaryPodDeleted", cFollows, recorded)},
		"when its machine is cordoned":                           {three().With(cordoned("a")), movesToB("NodeCordoned", cFollows, recorded)},
		"when a person asks for it":                              {three().With(asked("b")), movesToB("SwitchoverRequested", cFollows, recorded)},
		"not to a machine that is cordoned too":                  {three().With(cordoned("a", "b", "c")), nothing},
		"to one that is not, where there is one":                 {given.Replicated(3).Primary("a").Replica("c").Replica("b").With(cordoned("a", "c")), movesToB("NodeCordoned", cFollows, recorded)},
		"but its pod is being deleted, to any":                   {three(given.Terminating()).With(cordoned("a", "b", "c")), movesToB("PrimaryPodDeleted", cFollows, recorded)},
		"not while Kubernetes chooses pods to remove": {
			given: given.Replicated(2).Primary("a").Replica("b").Replica("c").With(asked("b")),
			want:  nothing,
		},
		"not to one that is not in sync": {
			given: given.Replicated(2).Primary("a", given.Terminating()).Replica("b", given.Offset(1)),
			want: []string{
				"blocked: NoHealthyReplica: pod a of the primary is being deleted, and no replica is in sync to take over: it serves for up to 10 s more",
			},
		},
		"not to one that is being deleted": {
			given: given.Replicated(2).Primary("a", given.Terminating()).Replica("b", given.Terminating()),
			want: []string{
				"blocked: NoHealthyReplica: pod a of the primary is being deleted, and no replica is in sync to take over: it serves for up to 10 s more",
			},
		},
		"in a rollout, when it is the last of the older revision": {
			given: given.Replicated(2).Scaled(2).Primary("a").Replica("b", given.Newer("rev2")).Replica("c", given.Newer("rev2")),
			want:  movesToB("Rollout", cFollows, recorded),
		},
		"before the last of the others is called ready": {
			given: given.Replicated(2).Primary("a").Replica("b", given.Newer("rev2")).Replica("c", given.Newer("rev2"), given.GateClosed()),
			want:  movesToB("Rollout", cFollows, recorded, "upkeep: set gate of c to true (Serves)"),
		},
		"not while another of the older revision is there": {
			given: given.Replicated(2).Primary("a").Replica("b", given.Newer("rev2")).Replica("c"),
			want:  nothing,
		},
		"not while fewer than wanted are of the new one": {
			given: given.Replicated(2).Primary("a").Replica("b", given.Newer("rev2")),
			want:  nothing,
		},
	}.run(t)
}

// A primary's pod waits for another to take over; where a namespace is deleted none will.
func TestAPrimaryGoesWithAllItsPods(t *testing.T) {
	two := func(d time.Duration) *given.Cluster {
		return given.Replicated(2).Primary("a", given.TerminatingFor(time.Minute)).Replica("b", given.TerminatingFor(d))
	}
	waits := []string{
		"blocked: NoHealthyReplica: pod a of the primary is being deleted, and no replica is in sync to take over: it serves for up to 10 s more",
	}
	cases{
		"not at once, since others may be about to come": {two(1900 * time.Millisecond), waits},
		"but none come": {two(2 * time.Second), []string{"safety: freeze a (Freeze)"}},
		"and it stays frozen": {
			given.Replicated(1).Primary("a", given.Fenced(), given.TerminatingFor(time.Minute)), nothing,
		},
		"not where one comes": {
			given.Replicated(2).Primary("a", given.TerminatingFor(time.Minute)).Replica("b", given.TerminatingFor(time.Minute)).Creating("c"), waits,
		},
	}.run(t)
}

// What the new primary needs to acknowledge must be there without the old one while that holds its clients' writes; and everyone else
// who could confirm a write there must be frozen.
func TestTheOldPrimaryIsFrozenWhereItCannotHoldWrites(t *testing.T) {
	cases{
		"of two, the new primary needs it": {
			given.Replicated(2).Primary("a").Replica("b").With(asked("b")), freezesA("SwitchoverRequested", aFollows, recorded),
		},
		"but where it goes, nobody needs it": {
			given.Replicated(2).Primary("a", given.Terminating()).Replica("b"), movesToB("PrimaryPodDeleted", recorded),
		},
		"one that is behind does not stand in for it": {
			given.Replicated(3).Primary("a").Replica("b").Replica("c", given.Offset(1)).With(asked("b")),
			freezesA("SwitchoverRequested", aFollows, cFollows, recorded),
		},
		"one that does not answer cannot be frozen": {
			given.Replicated(3).Primary("a", given.Terminating()).Replica("b").Replica("c", given.Silent(time.Second)),
			freezesA("PrimaryPodDeleted", recorded),
		},
	}.run(t)
}

func TestAPrimaryWhoseSwitchoverDidNotComeAboutGoesOn(t *testing.T) {
	const goOn = "safety: let the clients of a go on (Resume)"
	cases{
		"once its replicas are back": {given.Replicated(3).Primary("a", demotedFor(time.Millisecond)).Replica("b").Replica("c"), []string{goOn}},
		"they are brought back first": {
			given.Replicated(3).Primary("a", demotedFor(time.Millisecond)).Replica("b", given.Fenced()).Replica("c", given.Fenced()).With(needs(0)),
			[]string{"safety: attach b to a (Attach)", "safety: attach c to a (Attach)"},
		},
		"but not waited for for ever": {
			given.Replicated(3).Primary("a", demotedFor(time.Second)).Replica("b", given.Fenced()).Replica("c", given.Fenced()).With(needs(0)),
			[]string{goOn, "safety: set quorum of a to 1 (Quorum)", "safety: attach b to a (Attach)", "safety: attach c to a (Attach)"},
		},
		"another operator's shows in what it needs": {
			given.Replicated(3).Primary("a").Replica("b").Replica("c").With(needs(0)), []string{goOn, "safety: set quorum of a to 1 (Quorum)"},
		},
		"and in a replica that was frozen": {
			given.Replicated(3).Primary("a").Replica("b", given.Fenced()).Replica("c"), []string{goOn, "safety: attach b to a (Attach)"},
		},
		"not in one that was the primary before": {
			given.Replicated(3).Primary("a").Replica("b", given.Fenced(), demotedFor(2*time.Second)).Replica("c"), []string{"safety: attach b to a (Attach)"},
		},
		"nor in one that started anew": {
			given.Replicated(3).Primary("a").Replica("b", given.Restarted()).Replica("c"),
			[]string{"safety: attach b to a (Attach)", "upkeep: set gate of b to false (ServesNot)"},
		},
	}.run(t)
}

func TestAnOldPrimaryHoldsWritesUntilTheProxiesFollow(t *testing.T) {
	old := func(d time.Duration) *given.Cluster {
		return given.Replicated(3).Primary("a").Replica("b", given.Writable(), demotedFor(d)).Replica("c")
	}
	cases{
		"its clients are closed meanwhile":    {old(time.Second), []string{"upkeep: close clients of b (CloseClients)"}},
		"then it follows":                     {old(1500 * time.Millisecond), []string{"safety: demote b (Freeze)"}},
		"at once, if another operator did it": {given.Replicated(3).Primary("a").Replica("b", given.Writable()).Replica("c"), []string{"safety: demote b (Freeze)", "safety: attach b to a (Attach)"}},
	}.run(t)
}

func TestAWishForAnotherPrimaryIsTriedOnce(t *testing.T) {
	two := func(options ...given.Option) *given.Cluster {
		return given.Replicated(2).Primary("a").Replica("b", options...)
	}
	refused := []string{"upkeep: forget the wish for b (SwitchoverRefused)"}
	cases{
		"it is forgotten once it is fulfilled": {two().With(asked("a")), []string{"upkeep: forget the wish for a (SwitchoverDone)"}},
		"one that is behind is waited for":     {two(given.Offset(1)).With(asked("b")), nothing},
		"one whose link is down is refused":    {two(given.LinkDown(time.Second)).Attached(0, "b").With(asked("b")), refused},
		"one that is being deleted is refused": {two(given.Terminating()).With(asked("b")), refused},
		"one that does not exist is refused":   {two().With(asked("x")), []string{"upkeep: forget the wish for x (SwitchoverRefused)"}},
	}.run(t)
}

func demotedFor(d time.Duration) given.Option {
	return func(n *state.Node) { n.DemotedAt = given.Now.Add(-d) }
}

func TestClientsOfAnOldPrimaryAreClosedUntilTheProxiesFollow(t *testing.T) {
	old := func(d time.Duration) *given.Cluster {
		return given.Replicated(2).Primary("a").Replica("b", demotedFor(d))
	}
	closed := []string{"upkeep: close clients of b (CloseClients)"}
	cases{
		"not at once, since most need a moment": {old(30 * time.Millisecond), nothing},
		"then again and again":                  {old(50 * time.Millisecond), closed},
		"for a second and a half":               {old(1400 * time.Millisecond), closed},
		"and no longer":                         {old(1600 * time.Millisecond), nothing},
		"labels wait for as long, and what a ReplicaSet goes by does not": {
			given.Replicated(2).Primary("a", given.Role("replica"), given.Unmarked()).Replica("b", demotedFor(time.Second), given.Role("primary")),
			append(closed, "upkeep: mark pod a: pod-deletion-cost=1000 (MarkPod)"),
		},
	}.run(t)
}

// The quorum of the new primary is in force from its first write on: those that are in sync follow it at once.
func TestTheQuorumOfASwitchover(t *testing.T) {
	for name, c := range map[string]struct {
		given    *given.Cluster
		quorum   int32
		attached int
	}{
		"of three, the old primary and the other replica": {given.Replicated(3).Primary("a").Replica("b").Replica("c").With(asked("b")), 1, 2},
		"of two, the old primary":                         {given.Replicated(2).Primary("a").Replica("b").With(asked("b")), 1, 1},
		"of two, nobody where the old one goes":           {given.Replicated(2).Primary("a", given.Terminating()).Replica("b"), 0, 0},
		"not one that is behind":                          {given.Replicated(3).Primary("a", given.Terminating()).Replica("b").Replica("c", given.Offset(1)), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide.Decide(c.given.Snapshot(), given.Now)
			for _, step := range p.Lanes[plan.Safety].Steps {
				if claim, is := step.Action.(plan.WriteClaim); is {
					assert.Equal(t, c.quorum, claim.New.Quorum)
					assert.Len(t, claim.New.Attached, c.attached)
					return
				}
			}
			t.Error("nobody is claimed:\n" + p.String())
		})
	}
}
