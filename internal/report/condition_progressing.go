package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

// progressing is True while something is unfinished and nothing stands in its way.
func progressing(in Input) metav1.Condition {
	if in.Snapshot.Want.Spec.Paused {
		return condition(cachev1.ConditionProgressing, false, cachev1.ReasonPaused, "spec.paused is true: nothing is changed, failovers included")
	}
	reason, message := unfinished(in.Snapshot)
	if reason == "" {
		return condition(cachev1.ConditionProgressing, false, cachev1.ReasonSettled, "what spec asks for is there")
	}
	for _, blocked := range in.Plan.Blocked {
		if blocked.Rule == reason && reason == cachev1.ReasonScaling { // what makes the resource degraded says so itself
			message += ": " + blocked.Message
		}
	}
	stuck := degraded(in).Status == metav1.ConditionTrue || reason == cachev1.ReasonSecretMissing
	return condition(cachev1.ConditionProgressing, !stuck, reason, message)
}
