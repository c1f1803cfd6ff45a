package resources

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/redis-operator/internal/state"
)

// podDisruptionBudget lets evictions (drains) take one pod at a time. With one pod there is no budget: it could only forbid
// every drain.
//
// IfHealthyBudget, not AlwaysAllow: while a primary is being replaced no node serves, so all gates are False and no pod is
// Ready. AlwaysAllow would let a drain take all of them in that moment, and with them the only copies of the data. With
// IfHealthyBudget a node that is not in sync may be evicted as long as the others are healthy, so one broken pod does not
// hold up a drain either.
func podDisruptionBudget(want *state.Want) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "PodDisruptionBudget"},
		ObjectMeta: objectMeta(want, PDBName(want.Key.Name)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             new(intstr.FromInt32(1)),
			Selector:                   &metav1.LabelSelector{MatchLabels: Selector(want.Key.Name)},
			UnhealthyPodEvictionPolicy: new(policyv1.IfHealthyBudget),
		},
	}
}
