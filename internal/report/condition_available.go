package report

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

// available is True while the claimed primary answers as one and the Service leads to it.
func available(in Input) metav1.Condition {
	if n := in.Snapshot.Serving(); n != nil {
		return condition(cachev1.ConditionAvailable, true, cachev1.ReasonServing, fmt.Sprintf("pod %s takes reads and writes", n.Pod.Name))
	}
	message := "no pod serves as the primary yet"
	if n := in.Snapshot.Claimed(); n != nil {
		message = fmt.Sprintf("pod %s is to be the primary and does not serve (connection: %s)", n.Pod.Name, n.Link)
	} else if c := in.Snapshot.Claim; c != nil {
		message = fmt.Sprintf("pod %s was the primary and is gone", c.Primary.Name)
	}
	return condition(cachev1.ConditionAvailable, false, cachev1.ReasonNoPrimary, message)
}
