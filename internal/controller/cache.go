package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/resources"
)

// CacheOptions keep the cache small: only objects with the operator's labels, without what it never reads. namespaces limits it;
// none means all. Secrets are cached as metadata only, all of them, since a user's Secret has no label of ours.
func CacheOptions(namespaces []string) cache.Options {
	own := cache.ByObject{Label: labels.SelectorFromSet(resources.OwnLabels())}
	options := cache.Options{
		DefaultTransform:            strip,
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   own,
			&appsv1.Deployment{}:            own,
			&corev1.Service{}:               own,
			&corev1.ConfigMap{}:             own,
			&policyv1.PodDisruptionBudget{}: own,
			&discoveryv1.EndpointSlice{}:    {Label: labels.SelectorFromSet(resources.OwnSliceLabels())},
		},
	}
	if len(namespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range namespaces {
			options.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	return options
}

// strip removes from an object what the operator never reads, before it enters the cache.
func strip(in any) (any, error) {
	o, ok := in.(client.Object)
	if !ok {
		return in, nil
	}
	o.SetManagedFields(nil)
	switch typed := o.(type) {
	case *corev1.ConfigMap:
		typed.Data, typed.BinaryData = nil, nil
	case *corev1.Node:
		typed.Annotations, typed.Labels = nil, nil
		typed.Spec, typed.Status = corev1.NodeSpec{Unschedulable: typed.Spec.Unschedulable}, corev1.NodeStatus{}
	case *corev1.Pod:
		typed.Spec = corev1.PodSpec{NodeName: typed.Spec.NodeName, Containers: ports(typed.Spec.Containers)}
	}
	return o, nil
}

// ports keeps of containers only their names and ports.
func ports(containers []corev1.Container) []corev1.Container {
	kept := make([]corev1.Container, 0, len(containers))
	for i := range containers {
		kept = append(kept, corev1.Container{Name: containers[i].Name, Ports: containers[i].Ports})
	}
	return kept
}

func sameStatus(a, b *cachev1.RedisCluster) bool {
	return equality.Semantic.DeepEqual(a.Status, b.Status)
}
