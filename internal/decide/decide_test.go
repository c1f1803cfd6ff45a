package decide_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/redis-operator/internal/decide"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

// cases are situations by the sentence that describes the rule; want is the plan, a line a step or block.
type cases map[string]struct {
	given *given.Cluster
	want  []string
}

func (all cases) run(t *testing.T) {
	t.Helper()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			p := decide.Decide(c.given.Snapshot(), given.Now)
			assert.Equal(t, strings.Join(c.want, "\n"), strings.TrimSpace(p.String()))
		})
	}
}

// nothing is the plan where there is nothing to do.
var nothing []string

func TestDecideChangesNothing(t *testing.T) {
	cases{
		"in a settled world": {
			given: given.Replicated(3).Primary("a").Replica("b").Replica("c"),
			want:  nothing,
		},
		"in a settled world of one": {
			given: given.Replicated(1).Primary("a"),
			want:  nothing,
		},
		"while paused, though the primary is dead": {
			given: given.Replicated(3).Primary("a", given.Ended()).Replica("b").Replica("c").With(paused),
			want:  nothing,
		},
		"while the resource is being deleted": {
			given: given.Replicated(3).Primary("a", given.Ended()).Replica("b").NoObjects().With(deleting),
			want:  nothing,
		},
	}.run(t)
}

func paused(s *state.Snapshot)   { s.Want.Spec.Paused = true }
func deleting(s *state.Snapshot) { s.Want.Deleting = true }

func noSeed(s *state.Snapshot) { s.Want.Access.SeedKnown = false }

func TestDecideAsksToBeWoken(t *testing.T) {
	for name, c := range map[string]struct {
		given *given.Cluster
		want  string
	}{
		"never in a settled world":                    {given.Replicated(2).Primary("a").Replica("b"), "0s"},
		"when a silent primary becomes suspect":       {given.Replicated(2).Primary("a", given.Silent(3e9)).Replica("b", given.LinkDown(3e9)), "2s"},
		"soon while a replica is about to catch up":   {given.Replicated(2).Primary("a").Replica("b", given.Offset(1), given.GateClosed()), "100ms"},
		"when the gate of a silent replica must shut": {given.Replicated(1).Primary("a").Replica("b", given.Silent(2900e6)).Attached(0), "3s"},
		"when a replica that nobody hears must leave": {given.Replicated(3).Primary("a").Replica("b").Replica("c", given.Silent(1500e6)).With(unlisted("c")), "500ms"},
		"when the pod of the primary becomes suspect": {
			given.Replicated(2).Claim("a", 1).Replica("b", given.LinkDown(1e9)).Departed(state.Departed{Since: given.Now.Add(-3e9)}).Attached(1, "b"), "2s",
		},
		"when a silent primary has ceased to acknowledge": {
			given.Replicated(2).Primary("a", given.Silent(60e9)).Frozen("b", given.FrozenFor(3e9)), "2s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide.Decide(c.given.Snapshot(), given.Now)
			assert.Equal(t, c.want, p.Wake.String())
		})
	}
}

func TestEveryStepSaysWhy(t *testing.T) {
	for name, c := range map[string]*given.Cluster{
		"from nothing": given.Replicated(3).NoObjects().With(noSeed),
		"failover":     given.Replicated(3).Primary("a", given.Ended()).Frozen("b").Frozen("c"),
		"bootstrap":    given.Replicated(2).Started("a", given.OtherAccess()).Started("b"),
	} {
		t.Run(name, func(t *testing.T) {
			p := decide.Decide(c.Snapshot(), given.Now)
			assert.False(t, p.Empty())
			for _, lane := range p.Lanes {
				for _, step := range lane.Steps {
					assert.NotEmpty(t, step.Why.Code, step.Action)
					assert.NotEmpty(t, step.Why.Message, step.Action)
					assert.NotEmpty(t, plan.NameOf(step.Action))
				}
			}
		})
	}
}
