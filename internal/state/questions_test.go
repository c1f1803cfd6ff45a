package state_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

func TestWhoIsThePrimary(t *testing.T) {
	name := func(n *state.Node) string {
		if n == nil {
			return "nobody"
		}
		return n.Pod.Name
	}
	for what, c := range map[string]struct {
		given                     *given.Cluster
		claimed, primary, serving string
	}{
		"a settled one":             {given.Replicated(1).Primary("a"), "a", "a", "a"},
		"without claim":             {given.Replicated(1).Primary("a").NoClaim(), "nobody", "nobody", "nobody"},
		"its pod is gone":           {given.Replicated(1).Claim("a", 1), "nobody", "nobody", "nobody"},
		"it is not promoted yet":    {given.Replicated(1).Primary("a", given.Fenced()), "a", "nobody", "nobody"},
		"it is another process":     {given.Replicated(1).Primary("a", given.Restarted(), given.Writable()), "a", "nobody", "nobody"},
		"it does not answer":        {given.Replicated(1).Primary("a", given.Silent(0)), "a", "nobody", "nobody"},
		"the Service leads nowhere": {given.Replicated(1).Primary("a").With(func(s *state.Snapshot) { s.Objects.PrimarySlice = nil }), "a", "a", "nobody"},
		"on another port":           {given.Replicated(1).Primary("a").With(func(s *state.Snapshot) { s.Nodes[0].Pod.RedisPort = 1 }), "a", "a", "nobody"},
	} {
		t.Run(what, func(t *testing.T) {
			s := c.given.Snapshot()
			assert.Equal(t, c.claimed, name(s.Claimed()))
			assert.Equal(t, c.primary, name(s.Primary()))
			assert.Equal(t, c.serving, name(s.Serving()))
		})
	}
}

func TestWhoHasData(t *testing.T) {
	for what, c := range map[string]struct {
		option given.Option
		want   bool
	}{
		"a frozen node of the recorded history":          {given.Offset(10), true},
		"one whose history grew out of it":               {given.Data("newer", given.History), true},
		"one of a history that the recorded grew out of": {given.Data(given.Older, ""), false},
		"one of its own":                                 {given.Data("own", ""), false},
		"one in the middle of a copy":                    {given.Syncing(), false},
		"one that loads":                                 {given.Loading(), false},
		"one that started anew":                          {given.Restarted(), false},
		"one that does not answer":                       {given.Silent(0), true},
	} {
		t.Run(what, func(t *testing.T) {
			s := given.Replicated(2).Claim("a", 1).Frozen("b", c.option).Snapshot()
			assert.Equal(t, c.want, s.Nodes[0].HasData(s.Claim))
			assert.False(t, s.Nodes[0].HasData(nil))
			assert.False(t, s.Nodes[0].HasData(&cachev1.Claim{}))
		})
	}
}

func TestWhoIsAccountedFor(t *testing.T) {
	for what, c := range map[string]struct {
		given *given.Cluster
		want  bool
	}{
		"one that answers":                    {given.Replicated(1).Started("a"), true},
		"one that has not run":                {given.Replicated(1).Creating("a"), true},
		"one whose container ended":           {given.Replicated(1).Started("a", given.Ended(), given.Linked(state.LinkSilent, 0)), true},
		"one at whose address nobody listens": {given.Replicated(1).Started("a", given.Linked(state.LinkRefused, 0)), true},
		"not one that is silent":              {given.Replicated(1).Started("a", given.Silent(0)), false},
		"not one not yet connected to":        {given.Replicated(1).Started("a", given.Linked(state.LinkConnecting, 0)), false},
		"not one that refuses the operator":   {given.Replicated(1).Started("a", given.Linked(state.LinkDenied, 0)), false},
		"not one that may just have started":  {given.Replicated(1).Creating("a", given.Container(state.Container{Running: true})), false},
	} {
		t.Run(what, func(t *testing.T) {
			assert.Equal(t, c.want, accounted(c.given.Snapshot()))
		})
	}
}

func TestWhoHasCaughtUp(t *testing.T) {
	for what, c := range map[string]struct {
		given *given.Cluster
		want  bool
	}{
		"at what the primary had a moment ago":             {given.Replicated(2).Primary("a", given.Offset(1000), given.Wrote(900)).Replica("b", given.Offset(900)), true},
		"not below it":                                     {given.Replicated(2).Primary("a", given.Offset(1000), given.Wrote(900)).Replica("b", given.Offset(899)), false},
		"not below what it has, where that is all we know": {given.Replicated(2).Primary("a", given.Offset(1000), given.Wrote(-1)).Replica("b", given.Offset(999)), false},
		"not without a link":                               {given.Replicated(2).Primary("a").Replica("b", given.LinkDown(0)), false},
		"not of another primary":                           {given.Replicated(2).Primary("a").Replica("b", given.Follows("x")), false},
	} {
		t.Run(what, func(t *testing.T) {
			s := c.given.Snapshot()
			assert.Equal(t, c.want, s.Nodes[1].CaughtUp(s.Primary()))
		})
	}
}

func TestSettledReplicas(t *testing.T) {
	s := given.Replicated(4).Primary("a").Replica("b", given.NotReady()).Replica("c", given.Terminating()).Replica("d", given.LinkDown(0)).
		Replica("e").Snapshot()
	assert.EqualValues(t, 2, s.SettledReplicas())
}

func TestLinksHaveNames(t *testing.T) {
	for link := state.LinkNone; link <= state.LinkDenied; link++ {
		assert.NotEmpty(t, link.String())
	}
}

func accounted(s *state.Snapshot) bool { return s.Accounted(&s.Nodes[0]) }
