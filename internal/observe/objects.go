package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/redis-operator/internal/expectations"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services;configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch

// objects fills in what exists of the kinds that the operator makes.
func (o *Observer) objects(ctx context.Context, s *state.Snapshot) error {
	s.Objects.Existing = map[state.ObjectKey]state.Existing{}
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	for _, kind := range []struct {
		name string
		list client.ObjectList
	}{
		{"Deployment", &appsv1.DeploymentList{}},
		{"Service", &corev1.ServiceList{}},
		{"ConfigMap", &corev1.ConfigMapList{}},
		{"PodDisruptionBudget", &policyv1.PodDisruptionBudgetList{}},
		{"EndpointSlice", &discoveryv1.EndpointSliceList{}},
		{"Secret", secrets},
	} {
		if err := o.list(ctx, s, kind.name, kind.list); err != nil {
			return err
		}
	}
	return nil
}

// list fills in the objects of one kind that carry the resource's labels.
func (o *Observer) list(ctx context.Context, s *state.Snapshot, kind string, list client.ObjectList) error {
	err := o.Cache.List(ctx, list, client.InNamespace(s.Want.Key.Namespace), client.MatchingLabels(resources.Labels(s.Want.Key.Name)),
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing %ss of %s: %w", kind, s.Want.Key, err)
	}
	seen := map[types.UID]bool{}
	if err := meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(plan.Object)
		if !ok {
			return fmt.Errorf("a %T has no metadata", item)
		}
		seen[object.GetUID()] = true
		o.fillIn(s, kind, expectations.Newest(o.Written, object))
		return nil
	}); err != nil {
		return err
	}
	for _, object := range o.Written.Unseen(kind, s.Want.Key.Namespace, resources.LabelInstance, s.Want.Key.Name) {
		if !seen[object.GetUID()] {
			o.fillIn(s, kind, object)
		}
	}
	return nil
}

func (o *Observer) fillIn(s *state.Snapshot, kind string, object plan.Object) {
	existing := state.Existing{UID: object.GetUID(), Version: expectations.Version(object), AppliedHash: o.Applied.Hash(object)}
	if owner := metav1.GetControllerOf(object); owner != nil {
		existing.Controller = owner.UID
	}
	s.Objects.Existing[state.ObjectKey{Kind: kind, Name: object.GetName()}] = existing
	if existing.Controller != s.Want.UID && existing.Controller != "" {
		return
	}
	switch typed := object.(type) {
	case *appsv1.Deployment:
		if typed.Name == resources.WorkloadName(s.Want.Key.Name) {
			s.Objects.Workload = typed
		}
	case *discoveryv1.EndpointSlice:
		if typed.Name == resources.PrimarySliceName(s.Want.Key.Name) {
			s.Objects.PrimarySlice = typed
		}
	}
}
