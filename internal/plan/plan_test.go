package plan_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

func TestAPlanReadsAsAStory(t *testing.T) {
	a, b := plan.Target{Pod: "a"}, plan.Target{Pod: "b"}
	var p plan.Plan
	assert.True(t, p.Empty())
	p.Add(plan.Upkeep, plan.SetGate{Pod: "a", InSync: true}, "Serves", "x")
	p.Add(plan.Upkeep, plan.SetAccess{Node: a}, "Access", "x")
	p.Add(plan.Upkeep, plan.PatchPod{Pod: "a", Labels: map[string]*string{"x/role": new("primary")}, Annotations: map[string]*string{"y/cost": nil, "boot": new("1")}}, "MarkPod", "x")
	p.Add(plan.Objects, plan.CreateSeed{}, "Seed", "x")
	p.Add(plan.Objects, plan.Apply{Kind: "Service", Object: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "r"}}}, "Missing", "x")
	p.Add(plan.Objects, plan.Delete{Key: state.ObjectKey{Kind: "Service", Name: "q"}}, "Unwanted", "x")
	p.Add(plan.Safety, plan.WriteClaim{New: cachev1.Claim{Epoch: 3, Primary: cachev1.ClaimedPod{Name: "a"}}}, "Failover", "x")
	p.Add(plan.Safety, plan.Freeze{Node: b}, "Freeze", "x")
	p.Add(plan.Safety, plan.Promote{Node: a, Epoch: 3}, "Failover", "x")
	p.Add(plan.Safety, plan.OpenReplication{Node: a, Epoch: 3}, "OpenReplication", "x")
	p.Add(plan.Safety, plan.PointService{Pod: "a"}, "LeadService", "x")
	p.Add(plan.Safety, plan.RecordHistory{Node: a}, "NewHistory", "x")
	p.Add(plan.Safety, plan.Attach{Node: b, Primary: a}, "Attach", "x")
	p.Block("SecretMissing", "no %s", "secret")

	assert.False(t, p.Empty())
	assert.Equal(t, `safety: claim epoch 3 for a (Failover)
safety: freeze b (Freeze)
safety: promote a in epoch 3 (Failover)
safety: open a for its replicas (OpenReplication)
safety: lead the Service to a (LeadService)
safety: record the history of a (NewHistory)
safety: attach b to a (Attach)
objects: create the seed (Seed)
objects: apply Service r (Missing)
objects: delete Service q (Unwanted)
upkeep: set gate of a to true (Serves)
upkeep: set access of a (Access)
upkeep: mark pod a: role=primary boot=1 cost- (MarkPod)
blocked: SecretMissing: no secret
`, p.String())
}

func TestTheEarliestWakeWins(t *testing.T) {
	var p plan.Plan
	for _, d := range []time.Duration{0, 3 * time.Second, time.Second, -time.Second, 2 * time.Second} {
		p.WakeWithin(d)
	}
	assert.Equal(t, time.Second, p.Wake)
}

func TestOutcome(t *testing.T) {
	step := plan.Step{Action: plan.CreateSeed{}}
	outcome := func(results ...plan.Result) *plan.Outcome {
		o := &plan.Outcome{}
		for _, r := range results {
			o.Steps = append(o.Steps, plan.StepOutcome{Step: step, Result: r, Err: errors.New("refused")})
		}
		return o
	}
	assert.False(t, outcome().Changed())
	assert.False(t, outcome(plan.Already, plan.Failed).Changed())
	assert.True(t, outcome(plan.Already, plan.NotNow).Changed())
	assert.True(t, outcome(plan.Done).Changed())
	assert.NoError(t, outcome(plan.Done, plan.NotNow).Err())
	assert.EqualError(t, outcome(plan.Done, plan.Failed).Err(), "create the seed: refused")
}

func TestNames(t *testing.T) {
	assert.Equal(t, "PatchPod", plan.NameOf(plan.PatchPod{}))
	assert.Equal(t, []string{"safety", "objects", "upkeep"}, []string{plan.Safety.String(), plan.Objects.String(), plan.Upkeep.String()})
	assert.Equal(t, []string{"done", "already", "notnow", "failed"},
		[]string{plan.Done.String(), plan.Already.String(), plan.NotNow.String(), plan.Failed.String()})
}

func TestTargetOf(t *testing.T) {
	n := state.Node{Pod: state.Pod{Name: "a", UID: "u"}, Redis: state.Redis{RunID: "r"}}
	assert.Equal(t, plan.Target{Pod: "a", UID: "u", RunID: "r"}, plan.TargetOf(&n))
}
