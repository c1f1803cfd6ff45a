package report

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

// dataAtRisk is True while fewer replicas than half of the size must confirm a write: what WAIT confirmed for as many may then be
// lost by one fault.
func dataAtRisk(in Input) metav1.Condition {
	s := in.Snapshot
	wanted, inForce := s.Majority(), int32(0)
	if s.Claim != nil {
		inForce = s.Claim.Quorum
	}
	switch {
	case s.Want.Spec.Size == 1:
		return condition(cachev1.ConditionDataAtRisk, false, cachev1.ReasonSingleNode, "there is one node, as asked for; its data go with it")
	case inForce < wanted:
		return condition(cachev1.ConditionDataAtRisk, true, cachev1.ReasonQuorumBelowTarget,
			fmt.Sprintf("%d replicas must confirm a write now, and %d should: a write that WAIT %d confirmed may be lost with one more node", inForce, wanted, wanted))
	}
	return condition(cachev1.ConditionDataAtRisk, false, cachev1.ReasonQuorumMet, fmt.Sprintf("a write that WAIT %d confirmed survives the loss of any one node", inForce))
}
