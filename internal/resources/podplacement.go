package resources

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

// affinity is the user's; where the user says nothing on how pods spread, they prefer different machines and zones. It is a
// preference: on a cluster of one machine all pods still run.
func affinity(name string, user *cachev1.PodTemplate) *corev1.Affinity {
	if user.Affinity != nil || len(user.TopologySpreadConstraints) > 0 {
		return user.Affinity
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			apart(name, corev1.LabelHostname, 100),
			apart(name, corev1.LabelTopologyZone, 50),
		},
	}}
}

func apart(name, topologyKey string, weight int32) corev1.WeightedPodAffinityTerm {
	return corev1.WeightedPodAffinityTerm{
		Weight: weight,
		PodAffinityTerm: corev1.PodAffinityTerm{
			TopologyKey:   topologyKey,
			LabelSelector: &metav1.LabelSelector{MatchLabels: Selector(name)},
		},
	}
}

// topologySpread is the user's; a constraint that does not say which pods it counts counts those of this resource.
// Without a selector Kubernetes would count none.
func topologySpread(name string, user *cachev1.PodTemplate) []corev1.TopologySpreadConstraint {
	constraints := user.TopologySpreadConstraints
	for i := range constraints {
		if constraints[i].LabelSelector == nil {
			constraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: Selector(name)}
		}
	}
	return constraints
}
