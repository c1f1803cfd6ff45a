package report

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
)

// Type is the kind of event, in Kubernetes' terms.
func (e Event) Type() string {
	if e.Warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// Events are what is worth telling of what was done, and of conditions that turned. They are sent after the status is written.
func Events(in Input, status cachev1.RedisClusterStatus) []Event {
	var events []Event
	for _, step := range in.Outcome.Steps {
		if event, ok := stepEvent(in, step); ok {
			events = append(events, event)
		}
	}
	return append(events, conditionEvents(in, status)...)
}

// stepEvent tells a change of the primary, once: with the claim. And what a person should know of other steps.
func stepEvent(in Input, step plan.StepOutcome) (Event, bool) {
	if step.Result != plan.Done {
		return Event{}, false
	}
	why := step.Step.Why
	event := Event{Reason: why.Code, Message: why.Message}
	switch action := step.Step.Action.(type) {
	case plan.WriteClaim:
		return claimEvent(in, action, event)
	case plan.Demote:
		event.Warning = true
		return event, why.Code == plan.CodeWritesDiscarded
	case plan.ForgetSwitchover:
		event.Warning = true
		return event, why.Code == plan.CodeSwitchoverRefused
	}
	return Event{}, false
}

// claimEvent tells why the primary changed, and how long clients had none.
func claimEvent(in Input, claim plan.WriteClaim, event Event) (Event, bool) {
	switch event.Reason {
	case plan.CodeFailover, plan.CodeDataLost:
		event.Warning = true
		if !claim.LostAt.IsZero() {
			event.Took = in.Now.Sub(claim.LostAt)
			event.Message += fmt.Sprintf("; %d ms after it was lost", event.Took/time.Millisecond)
		}
	case plan.CodePodDeleted, plan.CodeCordoned, plan.CodeRollout, plan.CodeSwitchover:
		event.Took = handedOverIn(in.Outcome)
		event.Message += fmt.Sprintf("; writes stood still for %d ms", event.Took/time.Millisecond)
	case plan.CodeBootstrap, plan.CodeAdopt:
	default:
		return Event{}, false
	}
	return event, true
}

// handedOverIn is the time from the start of the last switchover until the Service led to the new primary.
func handedOverIn(outcome *plan.Outcome) time.Duration {
	var took time.Duration
	within := false
	for _, step := range outcome.Steps {
		switch step.Step.Action.(type) {
		case plan.HandOver:
			took, within = 0, true
		case plan.PointService:
			if within {
				took, within = took+step.Took, false
			}
		}
		if within {
			took += step.Took
		}
	}
	return took
}

// conditionEvents tells when a resource becomes degraded, for what reason and in which case of it, and when it recovers.
func conditionEvents(in Input, status cachev1.RedisClusterStatus) []Event {
	now := meta.FindStatusCondition(status.Conditions, cachev1.ConditionDegraded)
	before := &metav1.Condition{Reason: cachev1.ReasonHealthy}
	if old := meta.FindStatusCondition(in.Old.Conditions, cachev1.ConditionDegraded); old != nil {
		before = old
	}
	switch {
	case now.Reason == before.Reason && !anotherCase(in.Plan, before, now):
		return nil
	case now.Reason == cachev1.ReasonHealthy:
		return []Event{{Reason: "Recovered", Message: "nothing stands in the way any more"}}
	}
	return []Event{{Warning: true, Reason: now.Reason, Message: now.Message}}
}

// anotherCase tells whether a rule of the plan holds up something else than before, such as another Secret. The texts of rules do
// not change by themselves. Those of what the kubelet, Kubernetes or an error says do: they count as one case a reason.
func anotherCase(p *plan.Plan, before, now *metav1.Condition) bool {
	for _, blocked := range p.Blocked {
		if blocked.Rule == now.Reason { // the first one of that name is the gravest problem, so the message begins with its text
			same := before.Message == now.Message || before.Message == blocked.Message || strings.HasPrefix(before.Message, blocked.Message+"; ")
			return !same
		}
	}
	return false
}
