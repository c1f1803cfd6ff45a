package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

// phase sums the conditions up in one word. Nothing decides from it.
func phase(in Input, conditions []metav1.Condition) cachev1.Phase {
	s := in.Snapshot
	byType := map[string]metav1.Condition{}
	for _, c := range conditions {
		byType[c.Type] = c
	}
	degraded := byType[cachev1.ConditionDegraded]
	switch {
	case degraded.Status == metav1.ConditionTrue && needsPerson(degraded.Reason):
		return cachev1.PhaseFailed
	case s.Claim == nil && degraded.Status != metav1.ConditionTrue:
		return cachev1.PhasePending
	case degraded.Status == metav1.ConditionTrue:
		return cachev1.PhaseDegraded
	case byType[cachev1.ConditionAvailable].Status != metav1.ConditionTrue && servedBefore(in):
		return cachev1.PhaseFailingOver
	case byType[cachev1.ConditionAvailable].Status != metav1.ConditionTrue:
		return cachev1.PhasePending
	case byType[cachev1.ConditionReady].Status == metav1.ConditionTrue:
		return cachev1.PhaseRunning
	case byType[cachev1.ConditionReady].Reason == cachev1.ReasonRollingOut:
		return cachev1.PhaseUpdating
	}
	return cachev1.PhaseScaling
}

// needsPerson tells whether nothing can go on without one.
func needsPerson(reason string) bool {
	return reason == cachev1.ReasonAmbiguousPrimary || reason == cachev1.ReasonAmbiguousHistory
}

// servedBefore tells whether the resource ever served: a Service's slice is only written for a primary.
func servedBefore(in Input) bool { return in.Snapshot.Objects.PrimarySlice != nil }
