package report_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/report"
	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

func tellEvents(events []report.Event) []string {
	var lines []string
	for _, e := range events {
		lines = append(lines, fmt.Sprintf("%s %s: %s", e.Type(), e.Reason, e.Message))
	}
	return lines
}

func TestEventsOfSteps(t *testing.T) {
	claimed := func(code string, result plan.Result) plan.StepOutcome {
		old := given.Replicated(1).Primary("a").Snapshot().Claim
		var lost time.Time
		if code == plan.CodeFailover {
			lost = given.Now.Add(-130 * time.Millisecond)
		}
		return plan.StepOutcome{Result: result, Step: plan.Step{
			Action: plan.WriteClaim{Old: old, LostAt: lost}, Why: plan.Reason{Code: code, Message: "because"},
		}}
	}
	for name, c := range map[string]struct {
		given *given.Cluster
		step  plan.StepOutcome
		want  []string
	}{
		"a failover, with the time since the primary was lost": {
			given.Replicated(2).Primary("b").Frozen("a"),
			claimed(plan.CodeFailover, plan.Done), []string{"Warning Failover: because; 130 ms after it was lost"},
		},
		"a loss":          {given.Replicated(1).Primary("a"), claimed(plan.CodeDataLost, plan.Done), []string{"Warning DataLost: because"}},
		"a beginning":     {given.Replicated(1).Primary("a"), claimed(plan.CodeBootstrap, plan.Done), []string{"Normal Bootstrap: because"}},
		"an adoption":     {given.Replicated(1).Primary("a"), claimed(plan.CodeAdopt, plan.Done), []string{"Normal Adopt: because"}},
		"a new history":   {given.Replicated(1).Primary("a"), claimed(plan.CodeNewHistory, plan.Done), nil},
		"not what failed": {given.Replicated(1).Primary("a"), claimed(plan.CodeBootstrap, plan.NotNow), nil},
		"nor other steps": {given.Replicated(1).Primary("a"), plan.StepOutcome{Result: plan.Done, Step: plan.Step{Action: plan.CreateSeed{}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := of(c.given, c.step)
			assert.Equal(t, c.want, tellEvents(report.Events(in, report.Status(in))))
		})
	}
}

// A switchover is told with the time that writes stood still: from the pause until the Service led to the new primary.
func TestASwitchoverIsToldWithItsTime(t *testing.T) {
	step := func(action plan.Action, code string, took time.Duration) plan.StepOutcome {
		return plan.StepOutcome{Result: plan.Done, Step: plan.Step{Action: action, Why: plan.Reason{Code: code, Message: "because"}}, Took: took}
	}
	in := of(given.Replicated(1).Primary("a"),
		step(plan.SetQuorum{}, plan.CodeQuorum, time.Second),
		step(plan.HandOver{}, plan.CodeCordoned, 2*time.Millisecond),
		step(plan.WriteClaim{}, plan.CodeCordoned, 5*time.Millisecond),
		step(plan.Promote{}, plan.CodeCordoned, time.Millisecond),
		step(plan.PointService{}, plan.CodeLeadService, 6*time.Millisecond),
		step(plan.Attach{}, plan.CodeAttach, time.Second),
	)
	assert.Equal(t, []string{"Normal NodeCordoned: because; writes stood still for 14 ms"}, tellEvents(report.Events(in, report.Status(in))))
}

func TestEventsOfConditions(t *testing.T) {
	degraded := func(reason string) []metav1.Condition {
		return []metav1.Condition{{Type: cachev1.ConditionDegraded, Reason: reason}}
	}
	sick := []plan.StepOutcome{failed(errors.New("forbidden"))}
	for name, c := range map[string]struct {
		before  []metav1.Condition
		outcome []plan.StepOutcome
		want    []string
	}{
		"it becomes degraded":               {degraded(cachev1.ReasonHealthy), sick, []string{"Warning StepFailed: cannot create the seed: forbidden"}},
		"it begins degraded":                {nil, sick, []string{"Warning StepFailed: cannot create the seed: forbidden"}},
		"it stays degraded for that reason": {degraded(cachev1.ReasonStepFailed), sick, nil},
		"it is degraded for another reason": {degraded(cachev1.ReasonPodCrashing), sick, []string{"Warning StepFailed: cannot create the seed: forbidden"}},
		"it recovers":                       {degraded(cachev1.ReasonStepFailed), nil, []string{"Normal Recovered: nothing stands in the way any more"}},
		"it begins healthy":                 {nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := of(given.Replicated(1).Primary("a"), c.outcome...)
			in.Old.Conditions = c.before
			assert.Equal(t, c.want, tellEvents(report.Events(in, report.Status(in))))
		})
	}
}

// The reason alone does not tell that something else stands in the way now. Only the texts of rules count: the others change by
// themselves, and an event each time would be one every few seconds.
func TestARuleThatHoldsInAnotherCaseIsToldAgain(t *testing.T) {
	const first, second = "Secret p does not exist", "Secret p has nothing under the key password"
	missing := func(text string, outcome ...plan.StepOutcome) report.Input {
		return of(given.Replicated(1).Primary("a").With(func(s *state.Snapshot) { s.Want.Access.Missing = text }), outcome...)
	}
	crashing := func(end string) report.Input {
		return of(given.Replicated(2).Primary("a").Started("b", given.Container(state.Container{Running: true, Restarts: 3, LastEnd: end})))
	}
	sick := func(text string) plan.StepOutcome { return failed(errors.New(text)) }
	for name, c := range map[string]struct {
		before, now report.Input
		want        []string
	}{
		"the same case":                                  {missing(first), missing(first), nil},
		"another one":                                    {missing(first), missing(second), []string{"Warning SecretMissing: " + second}},
		"the same, and something else too":               {missing(first), missing(first, sick("forbidden")), nil},
		"the same, and nothing else":                     {missing(first, sick("forbidden")), missing(first), nil},
		"the same, and something else is told otherwise": {missing(first, sick("one")), missing(first, sick("two")), nil},
		"another one, and something else too":            {missing(first), missing(second, sick("forbidden")), []string{"Warning SecretMissing: " + second + "; cannot create the seed: forbidden"}},
		"the same, cut off for its length":               {missing(first, sick(strings.Repeat("x", 2000))), missing(first, sick(strings.Repeat("y", 2000))), nil},
		"one that is cut off itself":                     {missing(strings.Repeat("x", 2000)), missing(strings.Repeat("x", 2000)), nil},
		"another text of an error":                       {of(given.Replicated(1).Primary("a"), sick("one")), of(given.Replicated(1).Primary("a"), sick("two")), nil},
		"another text of the kubelet":                    {crashing("Error, exit code 1"), crashing("OOMKilled, exit code 137"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.now.Old = report.Status(c.before)
			assert.Equal(t, c.want, tellEvents(report.Events(c.now, report.Status(c.now))))
		})
	}
}
