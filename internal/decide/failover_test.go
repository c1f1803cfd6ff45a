package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

// failsOver is the plan of a failover from a to b: some nodes follow before a client is led to b, and others after it.
func failsOver(before, after []string) []string {
	return slices.Concat(
		[]string{"safety: claim epoch 2 for b (Failover)", "safety: promote b in epoch 2 (Failover)"}, before,
		[]string{"safety: lead the Service to b (LeadService)"}, after,
		[]string{"safety: record the history of b (NewHistory)"})
}

var (
	// failsOverToB is one where c follows that has the data and is needed to acknowledge.
	failsOverToB = failsOver([]string{cFollows}, nil)
	// failsOverAndCJoins is one where c follows that does not have them.
	failsOverAndCJoins = failsOver(nil, []string{cFollows})
	// failsOverToBAlone is one where nobody is there to follow.
	failsOverToBAlone = failsOver(nil, nil)
)

var freezesBAndC = []string{"safety: freeze b (Freeze)", "safety: freeze c (Freeze)"}

func TestADeadPrimaryIsReplaced(t *testing.T) {
	down, older := given.LinkDown(0), given.Data(given.Older, "")
	cases{
		"its replicas are frozen before their offsets are compared": {
			given: given.Replicated(3).Primary("a", given.Ended()).Replica("b", given.Offset(990), down).Replica("c", given.Offset(980), down),
			want:  freezesBAndC,
		},
		"a half frozen set is frozen first": {
			given: given.Replicated(3).Primary("a", given.Ended()).Frozen("b", given.Offset(990)).Replica("c", given.Offset(995), down),
			want:  []string{"safety: freeze c (Freeze)"},
		},
		"the highest offset among the frozen wins": {
			given: given.Replicated(3).Primary("a", given.Ended()).Frozen("b", given.Offset(990)).Frozen("c", given.Offset(980)),
			want:  failsOverAndCJoins, // what b has more, c has to copy before it counts
		},
		"one that has all of it is needed by its first write": {
			given: given.Replicated(3).Primary("a", given.Ended()).Frozen("b", given.Offset(990)).Frozen("c", given.Offset(990)),
			want:  failsOverToB,
		},
		"a history that grew out of the recorded one counts as newer than a higher offset": {
			given: given.Replicated(3).Primary("a", given.Ended()).
				Frozen("b", given.Offset(980), given.Data("newer", given.History)).Frozen("c", given.Offset(990)),
			want: failsOverAndCJoins,
		},
		"an empty node is not chosen, and follows": {
			given: given.Replicated(3).Primary("a", given.Ended()).Frozen("b", given.Offset(5)).Started("c", given.Offset(1)),
			want:  failsOverAndCJoins,
		},
		"a node that was in the middle of a copy is not chosen": {
			given: given.Replicated(3).Primary("a", given.Ended()).Frozen("b", given.Offset(5)).Frozen("c", given.Syncing()),
			want:  failsOverAndCJoins,
		},
		"a node whose Redis has never run holds nothing and is not waited for": {
			given: given.Replicated(3).Primary("a", given.Ended()).Frozen("b").Creating("c"),
			want:  failsOverToBAlone,
		},
		"where nobody else has data, an empty one begins, and that is told as a loss": {
			given: given.Replicated(2).Primary("a", given.Ended()).Started("b"),
			want: []string{
				"safety: claim epoch 2 for b (DataLost)",
				"safety: promote b in epoch 2 (DataLost)",
				"safety: lead the Service to b (LeadService)",
				"safety: record the history of b (NewHistory)",
			},
		},
		// Found by the simulation: a was promoted, its new history recorded, and it died before b and c had copied from it. Both
		// were taken for empty, and an empty node emptied them.
		"where it died before anyone had copied from it, the best of the older data go on": {
			given: given.Replicated(3).Primary("a", given.Ended()).Frozen("b", older, given.Offset(990)).Frozen("c", older, given.Offset(980)).Started("d"),
			want:  failsOver(nil, []string{cFollows, "safety: attach d to b (Attach)"}),
		},
		"but of older data of different histories none is chosen": {
			given: given.Replicated(3).Primary("a", given.Ended()).Frozen("b", older).Frozen("c", given.Data("another", "")),
			want: []string{
				"blocked: AmbiguousHistory: primary a is lost (its container ended (Error, exit code 137)), and b, c hold older data of different histories; " +
					"delete the pods whose data may go",
			},
		},
		"where nobody answers, nothing happens": {
			given: given.Replicated(1).Primary("a", given.Ended()),
			want:  nothing,
		},
		"having restarted, it is empty and follows the next one": {
			given: given.Replicated(2).Primary("a", given.Restarted()).Frozen("b"),
			want: []string{
				"safety: claim epoch 2 for b (Failover)",
				"safety: promote b in epoch 2 (Failover)",
				"safety: lead the Service to b (LeadService)",
				"safety: attach a to b (Attach)",
				"safety: record the history of b (NewHistory)",
			},
		},
		"having restarted as the only one, it is given the role again, and that is told as a loss": {
			given: given.Replicated(1).Primary("a", given.Restarted(), withoutBootRole),
			want: []string{
				"safety: claim epoch 2 for a (DataLost)",
				"safety: promote a in epoch 2 (DataLost)",
				"safety: record the history of a (NewHistory)",
			},
		},
		"having restarted as the only one, as the primary by its boot role, it loses the fence that Redis still tries to reach": {
			given: given.Replicated(1).Primary("a", given.Restarted(), given.Writable()),
			want: []string{
				"safety: claim epoch 2 for a (DataLost)",
				"safety: freeze a (Freeze)",
				"safety: promote a in epoch 2 (DataLost)",
				"safety: record the history of a (NewHistory)",
			},
		},
		"a primary by its boot role is nothing special where another node has data; but it may not start so again": {
			given: given.Replicated(2).Primary("a", given.Restarted(), given.Writable(), given.BootRole()).Frozen("b"),
			want:  []string{"safety: mark pod a: boot-role- (BootRole)"},
		},
		// Found by the simulation: an empty node was claimed, and then the old one started, by its boot role, and took writes.
		"before an empty one takes its place, its pod loses the boot role": {
			given: given.Replicated(2).Primary("a", given.Ended(), given.BootRole()).Started("b"),
			want:  []string{"safety: mark pod a: boot-role- (BootRole)"},
		},
		"having restarted by its boot role it may have taken writes since, so it keeps its place before an empty one": {
			given: given.Replicated(2).Primary("a", given.Restarted(), given.Writable(), given.BootRole()).Started("b"),
			want: []string{
				"safety: claim epoch 2 for a (DataLost)",
				"safety: freeze a (Freeze)",
				"safety: promote a in epoch 2 (DataLost)",
				"safety: attach b to a (Attach)",
				"safety: record the history of a (NewHistory)",
			},
		},
		"and if its boot role has been taken back since (found by the simulation: it had taken writes while the operator was cut off)": {
			given: given.Replicated(2).Primary("a", given.Restarted(), given.Writable()).Started("b"),
			want: []string{
				"safety: claim epoch 2 for a (DataLost)",
				"safety: freeze a (Freeze)",
				"safety: promote a in epoch 2 (DataLost)",
				"safety: attach b to a (Attach)",
				"safety: record the history of a (NewHistory)",
			},
		},
		"and serves on while another node has not answered yet": {
			given: given.Replicated(2).Primary("a", given.Restarted(), given.Writable(), given.BootRole()).Started("b", given.Linked(state.LinkConnecting, 0)),
			want: []string{
				"blocked: ReplicasUnaccounted: primary a is lost (its server started anew), and b may hold newer data: waiting for an answer; " +
					"if dead, annotate the resource with cache.example.com/confirm-dead=b; spec.failover.policy BestEffort goes on without, at the price of what only they have",
			},
		},
	}.run(t)
}

func withoutBootRole(n *state.Node) { clear(n.Pod.Annotations) }

func TestWhenAPrimaryIsDead(t *testing.T) {
	longAgo, justNow := given.Now.Add(-time.Minute), given.Now.Add(-time.Second)
	gone := func(d state.Departed) *given.Cluster {
		return given.Replicated(3).Claim("a", 1).Frozen("b").Frozen("c").Departed(d)
	}
	dead := failsOverToB[:2]
	for name, c := range map[string]struct {
		given *given.Cluster
		want  []string
	}{
		"its container ended":                         {given.Replicated(3).Primary("a", given.Ended(), given.Linked(state.LinkSilent, 0)).Frozen("b").Frozen("c"), dead},
		"its process is another one":                  {given.Replicated(3).Primary("a", given.Restarted()).Frozen("b").Frozen("c"), dead},
		"nothing listens at its address":              {given.Replicated(3).Primary("a", given.Linked(state.LinkRefused, 0)).Frozen("b").Frozen("c"), dead},
		"its pod is gone after its process ended":     {gone(state.Departed{Since: justNow, Ended: true}), dead},
		"its pod is gone and so is its machine":       {gone(state.Departed{Since: justNow, Machine: state.NodeHealthGone}), dead},
		"its pod is long gone from a good machine":    {gone(state.Departed{Since: longAgo, Machine: state.NodeHealthReady}), dead},
		"a person says so, though it was silent":      {given.Replicated(3).Primary("a", given.Silent(0)).Frozen("b").Frozen("c").With(confirmed("a")), dead},
		"a person says so of a pod that is gone":      {gone(state.Departed{Since: justNow}).With(confirmed("a")), dead},
		"not: its pod is just gone":                   {gone(state.Departed{Since: justNow, Machine: state.NodeHealthReady}), nil},
		"long gone from an unknown machine":           {gone(state.Departed{Since: longAgo, Machine: state.NodeHealthUnknown}), dead},
		"not: a person says so of another":            {gone(state.Departed{Since: justNow}).With(confirmed("b")), nil},
		"not: it is not yet connected to":             {given.Replicated(3).Primary("a", given.Linked(state.LinkConnecting, time.Minute)).Frozen("b").Frozen("c"), nil},
		"its container ended and runs again, unheard": {given.Replicated(3).Primary("a", given.Silent(0)).Frozen("b").Frozen("c").With(func(s *state.Snapshot) { s.PrimaryEnded = true }), dead},
		"not: it refuses the operator's user":         {given.Replicated(3).Primary("a", given.Linked(state.LinkDenied, time.Minute)).Frozen("b").Frozen("c"), nil},
		"not: silent for less than the timeout":       {given.Replicated(3).Primary("a", given.Silent(4*time.Second)).Frozen("b").Frozen("c"), nil},
		"silent for longer, its replicas frozen":      {given.Replicated(3).Primary("a", given.Silent(5*time.Second)).Frozen("b").Frozen("c"), dead},
		"not: they were frozen a moment ago":          {given.Replicated(3).Primary("a", given.Silent(5*time.Second)).Frozen("b").Frozen("c", given.FrozenFor(4900*time.Millisecond)), nil},
		"silent for longer, under BestEffort":         {given.Replicated(3).BestEffort().Primary("a", given.Silent(5*time.Second)).Frozen("b").Frozen("c"), dead},
	} {
		t.Run(name, func(t *testing.T) {
			safety := story(c.given.Snapshot()).lane("safety")
			if len(c.want) == 0 {
				safety.mustBeEmpty(t)
				return
			}
			safety.mustBegin(t, c.want)
		})
	}
}

func confirmed(pod string) func(*state.Snapshot) {
	return func(s *state.Snapshot) { s.Want.ConfirmedDead = pod }
}

func TestASilentPrimaryIsNotAlwaysReplaced(t *testing.T) {
	silent := given.Silent(time.Minute)
	unreachable := "blocked: PrimaryUnreachable: primary a is lost (it is silent), and it may still run and hold writes that nobody else has; if it is dead, " +
		"annotate the resource with cache.example.com/confirm-dead=a, or set spec.failover.policy to BestEffort"
	cases{
		"where it acknowledges without replicas a person must vouch for its death": {
			given: given.Replicated(2).Primary("a", silent).Replica("b", given.LinkDown(time.Second)).Attached(0, "b"),
			want:  []string{unreachable},
		},
		"its replicas are frozen, where it needs them": {
			given: given.Replicated(2).Primary("a", silent).Replica("b", given.LinkDown(time.Second)).Attached(1, "b"),
			want:  []string{"safety: freeze b (Freeze)"},
		},
		"under BestEffort its replicas are frozen": {
			given: given.Replicated(2).BestEffort().Primary("a", silent).Replica("b", given.LinkDown(time.Second)),
			want:  []string{"safety: freeze b (Freeze)"},
		},
		// Found by the simulation: a process that stood still for six seconds went on, and was told to copy from the empty one.
		"under BestEffort too, an empty node does not take the place of one that may come back with all data": {
			given: given.Replicated(2).BestEffort().Primary("a", silent).Started("b"),
			want:  []string{unreachable},
		},
		"a replica that still copies from it vetoes, under Safe": {
			given: given.Replicated(2).Primary("a", silent).Replica("b"),
			want: []string{
				"blocked: PrimaryUnreachable: primary a does not answer the operator, but b still copies from it: it stays the primary",
			},
		},
		"and under BestEffort too": {
			given: given.Replicated(2).BestEffort().Primary("a", silent).Replica("b"),
			want: []string{
				"blocked: PrimaryUnreachable: primary a does not answer the operator, but b still copies from it: it stays the primary",
			},
		},
		"a replica in the middle of a copy of it is no witness": {
			given: given.Replicated(2).BestEffort().Primary("a", silent).Replica("b", given.Syncing()),
			want:  []string{unreachable},
		},
		"one that heard it a second less ago than the timeout is none either": {
			given: given.Replicated(3).Primary("a", silent).Replica("b", given.HeardPrimary(4)).Replica("c", given.LinkDown(time.Second)).Attached(1, "b", "c"),
			want:  freezesBAndC,
		},
		"a pod that is gone from an unknown machine is a silent one": {
			given: given.Replicated(2).Claim("a", 1).Replica("b", given.LinkDown(time.Second)).Departed(state.Departed{Since: given.Now.Add(-time.Minute)}).Attached(1, "b"),
			want:  []string{"safety: freeze b (Freeze)"},
		},
	}.run(t)
}

func TestUnderSafeEveryReplicaIsAsked(t *testing.T) {
	blocked := "blocked: ReplicasUnaccounted: primary a is lost (its container ended (Error, exit code 137)), and c may hold newer data: waiting for an answer; " +
		"if dead, annotate the resource with cache.example.com/confirm-dead=c; spec.failover.policy BestEffort goes on without, at the price of what only they have"
	dead := given.Ended()
	cases{
		"a silent one is waited for, after the others are frozen": {
			given: given.Replicated(3).Primary("a", dead).Frozen("b").Replica("c", given.Silent(time.Second)),
			want:  []string{blocked},
		},
		"under BestEffort it is not": {
			given: given.Replicated(3).BestEffort().Primary("a", dead).Frozen("b").Replica("c", given.Silent(time.Second)),
			want:  failsOverToBAlone,
		},
		"one that is not yet connected to is waited for": {
			given: given.Replicated(3).Primary("a", dead).Frozen("b").Replica("c", given.Linked(state.LinkConnecting, 0)),
			want:  []string{blocked},
		},
		"one that refuses the operator's user is waited for": {
			given: given.Replicated(3).Primary("a", dead).Frozen("b").Replica("c", given.Linked(state.LinkDenied, 0)),
			want: []string{
				"blocked: AccessDenied: pod c refuses the operator's user; delete the pod, so that it starts with the rules in Secret r-users",
				blocked,
			},
		},
		"one that loads its data is waited for": {
			given: given.Replicated(3).Primary("a", dead).Frozen("b").Replica("c", given.Loading(), given.LinkDown(0)),
			want:  []string{blocked},
		},
		"one whose container ended is not": {
			given: given.Replicated(3).Primary("a", dead).Frozen("b").Replica("c", dead),
			want:  failsOverToBAlone,
		},
		"one at whose address nothing listens is, until the kubelet says that it ended": {
			given: given.Replicated(3).Primary("a", dead).Frozen("b").Replica("c", given.Linked(state.LinkRefused, 0)),
			want:  []string{blocked},
		},
		"where more than one must confirm, one that is silent cannot be the only one that has a write": {
			given: given.Replicated(5).Primary("a", dead).Frozen("b").Frozen("c").Frozen("d").Replica("e", given.Silent(time.Second)).Attached(2, "b", "c", "d", "e"),
			want:  failsOver([]string{cFollows, "safety: attach d to b (Attach)"}, nil),
		},
		"and two are": {
			given: given.Replicated(5).Primary("a", dead).Frozen("b").Frozen("c").Replica("d", given.Silent(time.Second)).Replica("e", given.Silent(time.Second)).Attached(2, "b", "c", "d", "e"),
			want:  []string{strings.NewReplacer("and c", "and d, e", "dead=c", "dead=d,e").Replace(blocked)},
		},
		"a pod that is gone, and may still run, counts too": {
			given: given.Replicated(3).Primary("a", dead).Frozen("b").Attached(1, "b", "c"),
			want:  []string{blocked},
		},
		"under BestEffort too, an empty one does not begin while one with data may come back": {
			given: given.Replicated(3).BestEffort().Primary("a", dead).Started("b").Replica("c", given.Silent(time.Second)),
			want:  []string{blocked},
		},
	}.run(t)
}

func TestTheHistoryOfALostPrimaryIsKnownByItsReplicas(t *testing.T) {
	heir := given.Data("unrecorded", "")
	down := given.LinkDown(0)
	cases{
		"it is recorded before they are frozen, since only what they copy from shows it": {
			given: given.Replicated(2).Primary("a", given.Ended()).Replica("b", heir, down),
			want: []string{
				"safety: claim epoch 1 for a (NewHistory)",
				"safety: freeze b (Freeze)",
			},
		},
		// Found by the simulation, where c was cut off from a since a's promotion: its old history replaced the recorded one, and
		// b, which had everything, was taken for empty.
		"one that never got through, with an older history, is no heir while another has what is on record": {
			given: given.Replicated(3).Primary("a", given.Ended()).Replica("b", down).Replica("c", given.Data(given.Older, ""), down),
			want:  freezesBAndC,
		},
		"while a node is missing that may have what is on record, nobody is an heir, and nobody is frozen so that it can still be told": {
			given: given.Replicated(3).Primary("a", given.Ended()).Replica("b", heir, down).Started("c", given.Silent(0)),
			want: []string{
				"blocked: ReplicasUnaccounted: primary a is lost (its container ended (Error, exit code 137)), and c may hold newer data: waiting for an answer; " +
					"if dead, annotate the resource with cache.example.com/confirm-dead=c; spec.failover.policy BestEffort goes on without, at the price of what only they have",
			},
		},
		"under BestEffort it is not waited for": {
			given: given.Replicated(3).BestEffort().Primary("a", given.Ended()).Replica("b", heir, down).Started("c", given.Silent(0)),
			want: []string{
				"safety: claim epoch 1 for a (NewHistory)",
				"safety: freeze b (Freeze)",
			},
		},
		"a replica that never copied anything is no heir": {
			given: given.Replicated(2).Primary("a", given.Ended()).Replica("b", given.Data("own-b", ""), given.Offset(1), down),
			want:  []string{"safety: freeze b (Freeze)"},
		},
		"one in the middle of a copy is no heir": {
			given: given.Replicated(2).Primary("a", given.Ended()).Replica("b", heir, given.Syncing()),
			want:  []string{"safety: freeze b (Freeze)"},
		},
		"one that copies from somewhere else is no heir": {
			given: given.Replicated(2).Primary("a", given.Ended()).Replica("b", heir, given.Follows("x")),
			want:  []string{"safety: freeze b (Freeze)"},
		},
	}.run(t)
}
