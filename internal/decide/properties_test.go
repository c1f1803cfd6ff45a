package decide_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/redis-operator/internal/decide"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

// randomWorlds is how many situations each property is tried on.
const randomWorlds = 1000

// anyWorld is a situation of up to five nodes, each as random as the rules tell apart. Most never happen; the properties
// below hold all the same.
func anyWorld(seed uint64) *given.Cluster {
	r := rand.New(rand.NewPCG(seed, 1))
	size := 1 + r.IntN(4)
	c := given.Replicated(int32(size))
	if r.IntN(4) == 0 {
		c.BestEffort()
	}
	if r.IntN(4) == 0 {
		c.Scaled(int32(1 + r.IntN(4)))
	}
	c.Claim("a", 1)
	for i := range r.IntN(size + 2) {
		name, options := string(rune('a'+i)), anyOptions(r)
		kinds := []func(string, ...given.Option) *given.Cluster{c.Replica, c.Replica, c.Frozen, c.Frozen, c.Started, c.Creating}
		if i == 0 && r.IntN(3) > 0 {
			kinds = []func(string, ...given.Option) *given.Cluster{c.Primary}
		}
		kinds[r.IntN(len(kinds))](name, options...)
	}
	if r.IntN(5) == 0 {
		c.NoClaim()
	}
	if r.IntN(6) == 0 {
		c.With(confirmed("a"))
	}
	c.Departed(state.Departed{Since: given.Now.Add(-time.Duration(r.IntN(100)) * time.Second), Machine: state.NodeHealth(r.IntN(3))})
	return c
}

func anyOptions(r *rand.Rand) []given.Option {
	all := []given.Option{
		given.Offset(1), given.Offset(990), given.Offset(980), given.Ended(), given.Restarted(), given.Silent(time.Second), given.Silent(time.Minute),
		given.Linked(state.LinkRefused, 0), given.Linked(state.LinkDenied, 0), given.Linked(state.LinkConnecting, 0), given.Loading(), given.Syncing(),
		given.Writable(), given.Follows("a"), given.Follows("b"), given.Fenced(), given.LinkDown(time.Second), given.LinkDown(time.Minute),
		given.Terminating(), given.GateClosed(), given.LetIn(0), given.Role(""), given.BootRole(), given.OtherAccess(), given.Newer("rev2"), given.Unmarked(),
		given.Data("newer", given.History), given.Data("unrecorded", ""),
	}
	var options []given.Option
	for range r.IntN(4) {
		options = append(options, all[r.IntN(len(all))])
	}
	return options
}

// world is a random situation with its plan. The tests share them, since building one takes longer than deciding.
type world struct {
	snapshot *state.Snapshot
	plan     plan.Plan
}

var worlds = sync.OnceValue(func() []world {
	all := make([]world, randomWorlds)
	for seed := range all {
		s := anyWorld(uint64(seed)).Snapshot()
		all[seed] = world{s, decide.Decide(s, given.Now)}
	}
	return all
})

func forAnyWorld(t *testing.T, check func(t *testing.T, s *state.Snapshot, p plan.Plan)) {
	t.Helper()
	for seed, w := range worlds() {
		check(t, w.snapshot, w.plan)
		if t.Failed() {
			t.Logf("world %d:\n%s", seed, describe(w.snapshot))
			return
		}
	}
}

func describe(s *state.Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "claim %+v\n", s.Claim)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		fmt.Fprintf(&b, "%s: link %s, %+v\n", n.Pod.Name, n.Link, n.Redis)
	}
	return b.String()
}

func TestTheOrderOfNodesDoesNotMatter(t *testing.T) {
	forAnyWorld(t, func(t *testing.T, s *state.Snapshot, p plan.Plan) {
		reversed := *s
		reversed.Nodes = slices.Clone(s.Nodes)
		slices.Reverse(reversed.Nodes)
		q := decide.Decide(&reversed, given.Now)
		assert.Equal(t, steps(&p), steps(&q))
		assert.Equal(t, p.Wake, q.Wake)
	})
}

// steps are a plan's steps and the rules that block, without an order. (Messages name nodes in the order of the snapshot.)
func steps(p *plan.Plan) []string {
	var all []string
	for _, lane := range p.Lanes {
		for _, step := range lane.Steps {
			all = append(all, step.Action.String())
		}
	}
	for _, blocked := range p.Blocked {
		all = append(all, blocked.Rule)
	}
	slices.Sort(all)
	return all
}

func TestNoPlanLetsDataBeReplacedByNothing(t *testing.T) {
	forAnyWorld(t, func(t *testing.T, s *state.Snapshot, p plan.Plan) {
		for _, step := range p.Lanes[plan.Safety].Steps {
			if attach, is := step.Action.(plan.Attach); is {
				primary, node := s.NodeByUID(attach.Primary.UID), s.NodeByUID(attach.Node.UID)
				assert.False(t, holdsData(s, node) && !holdsData(s, primary), "%s\n%s", step.Action, p.String())
			}
		}
	})
}

// holdsData tells whether a node has data that is on record. A claimed process has, whatever its replication id became.
func holdsData(s *state.Snapshot, n *state.Node) bool {
	return n.HasData(s.Claim) || n.IsClaimedProcess(s.Claim)
}

func TestNoPlanPromotesTwoOrAnyoneUnclaimed(t *testing.T) {
	forAnyWorld(t, func(t *testing.T, s *state.Snapshot, p plan.Plan) {
		claim, promoted := s.Claim, 0
		for _, step := range p.Lanes[plan.Safety].Steps {
			switch action := step.Action.(type) {
			case plan.WriteClaim:
				assert.Equal(t, s.Claim, action.Old)
				claim = &action.New
			case plan.Promote:
				promoted++
				assert.Equal(t, claim.RunID, action.Node.RunID, p.String())
				assert.Equal(t, claim.Epoch, action.Epoch, p.String())
			case plan.Attach:
				assert.Equal(t, claim.RunID, action.Primary.RunID, p.String())
				assert.NotEqual(t, claim.RunID, action.Node.RunID, p.String())
			}
		}
		assert.LessOrEqual(t, promoted, 1, p.String())
	})
}

func TestNobodyIsPromotedBeforeAllOthersAreFrozen(t *testing.T) {
	forAnyWorld(t, func(t *testing.T, s *state.Snapshot, p plan.Plan) {
		for _, step := range p.Lanes[plan.Safety].Steps {
			claim, is := step.Action.(plan.WriteClaim)
			if !is || step.Why.Code != plan.CodeFailover {
				continue
			}
			for i := range s.Nodes {
				n := &s.Nodes[i]
				if n.Answers() && n.Pod.UID != claim.Old.Primary.UID {
					assert.True(t, n.Fenced(), "%s moves while %s is chosen", n.Pod.Name, claim.New.Primary.Name)
				}
				if n.HasData(s.Claim) && n.Answers() && n.Redis.ReplicationID == s.NodeByUID(claim.New.Primary.UID).Redis.ReplicationID {
					assert.LessOrEqual(t, n.Redis.Offset, s.NodeByUID(claim.New.Primary.UID).Redis.Offset, n.Pod.Name)
				}
			}
		}
	})
}

func TestAPausedOrDeletedResourceIsLeftAlone(t *testing.T) {
	for seed := range uint64(randomWorlds / 20) {
		p := decide.Decide(anyWorld(seed).With(paused).Snapshot(), given.Now)
		assert.Empty(t, p.String())
		s := anyWorld(seed).With(deleting).Snapshot()
		p = decide.Decide(s, given.Now)
		for _, step := range p.Lanes[plan.Safety].Steps {
			freeze, is := step.Action.(plan.Freeze) // lets the pod of a primary end
			assert.True(t, is && s.NodeByUID(freeze.Node.UID).Pod.Terminating, p.String())
			p.Lanes[plan.Safety].Steps = nil
		}
		assert.Empty(t, p.String())
	}
}
