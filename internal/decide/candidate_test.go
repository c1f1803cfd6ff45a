package decide_test

import (
	"testing"

	"example.com/redis-operator/internal/testing/given"
)

// The criteria of bestCandidate, each deciding against all that come after it.
func TestWhomToPromote(t *testing.T) {
	dead := given.Ended()
	newer := given.Newer("rev2")
	for name, c := range map[string]struct {
		given *given.Cluster
		want  string
	}{
		"the newest history before the highest offset": {
			given.Replicated(3).Primary("a", dead).Frozen("b", given.Offset(9999), newer).
				Frozen("c", given.Data("newer", given.History), given.Offset(10), given.Terminating()), "c",
		},
		"the highest offset before a pod that stays": {
			given.Replicated(3).Primary("a", dead).Frozen("b", given.Offset(999), newer).Frozen("c", given.Terminating()), "c",
		},
		"a pod that stays before one of the newest revision": {
			given.Replicated(3).Primary("a", dead).Frozen("b", newer, given.Terminating()).Frozen("c"), "c",
		},
		"the newest revision before the smallest UID": {
			given.Replicated(3).Primary("a", dead).Frozen("b").Frozen("c", newer), "c",
		},
		"the smallest UID": {
			given.Replicated(3).Primary("a", dead).Frozen("b").Frozen("c"), "b",
		},
		"never one that answers without data, whatever its offset": {
			given.Replicated(3).Primary("a", dead).Frozen("b", given.Data("another", ""), given.Offset(9999)).Frozen("c", given.Offset(2)), "c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			story(c.given.Snapshot()).mustBegin(t, lines{"safety: claim epoch 2 for " + c.want + " (Failover)"})
		})
	}
}
