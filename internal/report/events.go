package report

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

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

// stepEvent tells a change of the primary, once: with the promotion, or with the claim where nothing needs promoting.
func stepEvent(in Input, step plan.StepOutcome) (Event, bool) {
	if step.Result != plan.Done {
		return Event{}, false
	}
	claim, isClaim := step.Step.Action.(plan.WriteClaim)
	if !isClaim {
		return Event{}, false
	}
	why := step.Step.Why
	event := Event{Reason: why.Code, Message: why.Message}
	switch why.Code {
	case plan.CodeFailover:
		event.Warning = true
		if n := in.Snapshot.NodeByUID(claim.Old.Primary.UID); n != nil && !n.LinkSince.IsZero() {
			event.Message += fmt.Sprintf("; %d ms after it was lost", in.Now.Sub(n.LinkSince)/time.Millisecond)
		}
	case plan.CodeDataLost:
		event.Warning = true
	case plan.CodeBootstrap, plan.CodeAdopt:
	default:
		return Event{}, false
	}
	return event, true
}

// conditionEvents tells when a resource becomes degraded, for what reason, and when it recovers.
func conditionEvents(in Input, status cachev1.RedisClusterStatus) []Event {
	now := meta.FindStatusCondition(status.Conditions, cachev1.ConditionDegraded)
	before := cachev1.ReasonHealthy
	if old := meta.FindStatusCondition(in.Old.Conditions, cachev1.ConditionDegraded); old != nil {
		before = old.Reason
	}
	switch {
	case now.Reason == before:
		return nil
	case now.Reason == cachev1.ReasonHealthy:
		return []Event{{Reason: "Recovered", Message: "nothing stands in the way any more"}}
	}
	return []Event{{Warning: true, Reason: now.Reason, Message: now.Message}}
}
