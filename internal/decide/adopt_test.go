package decide_test

import (
	"testing"

	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

func TestWithoutClaimNobodyEverHadARole(t *testing.T) {
	cases{
		"nobody gets a role before the seed of the passwords is known": {
			given: given.Replicated(3).Started("a", given.OtherAccess()).With(noSeed),
			want:  []string{"objects: create the seed (Seed)"},
		},
		"nothing happens before a pod answers": {
			given: given.Replicated(3).Creating("a").Creating("b").Started("c", given.Linked(state.LinkConnecting, 0)),
			want:  nothing,
		},
		"the first that answers becomes the primary, without waiting for the others": {
			given: given.Replicated(3).Creating("a").Started("b").Creating("c"),
			want: []string{
				"safety: claim epoch 1 for b (Bootstrap)",
				"safety: promote b in epoch 1 (Bootstrap)",
				"safety: lead the Service to b (LeadService)",
				"safety: record the history of b (NewHistory)",
			},
		},
		"those that answer already follow at once": {
			given: given.Replicated(2).Started("a").Started("b"),
			want: []string{
				"safety: claim epoch 1 for a (Bootstrap)",
				"safety: promote a in epoch 1 (Bootstrap)",
				"safety: lead the Service to a (LeadService)",
				"safety: attach b to a (Attach)",
				"safety: record the history of a (NewHistory)",
			},
		},
		"a pod that is being deleted or loads is not chosen": {
			given: given.Replicated(3).Started("a", given.Terminating()).Started("b", given.Loading()).Started("c"),
			want: []string{
				"safety: claim epoch 1 for c (Bootstrap)",
				"safety: promote c in epoch 1 (Bootstrap)",
				"safety: lead the Service to c (LeadService)",
				"safety: record the history of c (NewHistory)",
			},
		},
		"a pod of the newest revision is preferred": {
			given: given.Replicated(2).Started("a").Started("b", given.Newer("rev2")),
			want: []string{
				"safety: claim epoch 1 for b (Bootstrap)",
				"safety: promote b in epoch 1 (Bootstrap)",
				"safety: lead the Service to b (LeadService)",
				"safety: attach a to b (Attach)",
				"safety: record the history of b (NewHistory)",
			},
		},
	}.run(t)
}

// outgrownAt is a node whose history grew out of its older one at that offset.
func outgrownAt(offset int64) given.Option {
	return func(n *state.Node) { n.Redis.SecondOffset = offset + 1 }
}

func TestWithoutClaimWhatIsTrueIsAdopted(t *testing.T) {
	cases{
		"the one primary is adopted, and nothing about it changes": {
			given: given.Replicated(3).Primary("a").Replica("b").Replica("c").NoClaim(),
			want:  []string{"safety: claim epoch 1 for a (Adopt)"},
		},
		"a primary is adopted though no pod has a role's label": {
			given: given.Replicated(2).Primary("a", given.Role("")).Replica("b", given.Role("")).NoClaim(),
			want:  []string{"safety: claim epoch 1 for a (Adopt)"},
		},
		"nobody is adopted while a silent node may be the primary": {
			given: given.Replicated(3).Primary("a").Replica("b").Replica("c", given.Silent(0)).NoClaim(),
			want: []string{
				"blocked: ReplicasUnaccounted: there is no record of who is primary, and c may know: waiting for an answer",
			},
		},
		"of several primaries none is chosen": {
			given: given.Replicated(3).Primary("a").Replica("b", given.Writable()).Replica("c").NoClaim(),
			want: []string{
				"blocked: AmbiguousPrimary: there is no record of who is primary, and a, b all say they are; delete the pods whose data may go",
			},
		},
		"without a primary all nodes are frozen before offsets are compared": {
			given: given.Replicated(3).Claim("a", 1).Replica("b", given.LinkDown(0)).Replica("c", given.LinkDown(0)).NoClaim(),
			want: []string{
				"safety: freeze b (Freeze)",
				"safety: freeze c (Freeze)",
			},
		},
		"of frozen nodes with one history the highest offset wins, and an empty one joins": {
			given: given.Replicated(3).Frozen("a", given.Offset(800)).Frozen("b", given.Offset(900)).Started("c").NoClaim(),
			want: []string{
				"safety: claim epoch 1 for b (Adopt)",
				"safety: promote b in epoch 1 (Adopt)",
				"safety: lead the Service to b (LeadService)",
				"safety: attach a to b (Attach)",
				"safety: attach c to b (Attach)",
				"safety: record the history of b (NewHistory)",
			},
		},
		"one that a replica's history grew out of was succeeded: it holds its clients' writes in a switchover": {
			given: given.Replicated(2).Frozen("a", given.Writable()).Frozen("b", given.Data("newer", given.History), outgrownAt(1000)).NoClaim(),
			want:  []string{"safety: freeze a (Freeze)"},
		},
		"not one that has more than that": {
			given: given.Replicated(2).Frozen("a", given.Writable()).Frozen("b", given.Data("newer", given.History), outgrownAt(900)).NoClaim(),
			want:  []string{"safety: claim epoch 1 for a (Adopt)"},
		},
		"a history that grew out of the other's counts as newer than a higher offset": {
			given: given.Replicated(2).Frozen("a", given.Offset(900)).Frozen("b", given.Offset(800), given.Data("newer", given.History)).NoClaim(),
			want: []string{
				"safety: claim epoch 1 for b (Adopt)",
				"safety: promote b in epoch 1 (Adopt)",
				"safety: lead the Service to b (LeadService)",
				"safety: attach a to b (Attach)",
				"safety: record the history of b (NewHistory)",
			},
		},
		"of different histories none is chosen": {
			given: given.Replicated(2).Frozen("a").Frozen("b", given.Data("another", "")).NoClaim(),
			want: []string{
				"blocked: AmbiguousHistory: there is no record of who is primary, and a, b hold data of different histories; delete the pods whose data may go",
			},
		},
		"where nobody has data any more, an empty one begins, and that is told as a loss": {
			given: given.Replicated(2).Started("a", given.Role("primary")).Started("b").NoClaim(),
			want: []string{
				"safety: claim epoch 1 for a (DataLost)",
				"safety: promote a in epoch 1 (DataLost)",
				"safety: lead the Service to a (LeadService)",
				"safety: attach b to a (Attach)",
				"safety: record the history of a (NewHistory)",
			},
		},
	}.run(t)
}
