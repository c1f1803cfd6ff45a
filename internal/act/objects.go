package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/resources"
)

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=services;configmaps;secrets,verbs=create;patch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=create;patch;delete
// +kubebuilder:rbac:groups=cache.example.com,resources=redisclusters/finalizers,verbs=update

// apply makes an object as wanted by server-side apply: fields that others own stay theirs. An object that another owner
// controls is never touched, so one that the cache does not show is looked for first: it may lack our labels.
func (a *Actor) apply(ctx context.Context, on *subject, action plan.Apply) error {
	if action.Missing {
		if err := a.mustBeFree(ctx, on, action.Object); err != nil {
			return err
		}
	}
	result, err := a.serverSideApply(ctx, action.Object)
	if apierrors.IsInvalid(err) && !action.Missing {
		if result, err = a.replaceAndApply(ctx, action.Object, err); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	a.Written.Wrote(action.Kind, result)
	a.Applied.Record(result, action.Hash)
	return nil
}

// serverSideApply applies an object and returns what the API server made of it, in the same type.
func (a *Actor) serverSideApply(ctx context.Context, object plan.Object) (plan.Object, error) {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind, object.GetName(), err)
	}
	intent := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(intent.Object, "status")
	unstructured.RemoveNestedField(intent.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(intent.Object, "spec", "template", "metadata", "creationTimestamp")
	if err := a.Writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(intent), client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("applying %s %s: %w", kind, object.GetName(), err)
	}
	result, ok := object.DeepCopyObject().(plan.Object)
	if !ok {
		return nil, fmt.Errorf("a %T has no metadata", object)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(intent.Object, result); err != nil {
		return nil, fmt.Errorf("reading the applied %s %s: %w", kind, object.GetName(), err)
	}
	return result, nil
}

// replaceAndApply puts the part of an object that apply merges by key into the wanted shape as a whole, and applies again.
//
// Someone who changes a port's number by hand leaves an entry of his own under the new number; ours then is a second one of the
// same name, which the API server calls invalid, for as long as his is there.
func (a *Actor) replaceAndApply(ctx context.Context, object plan.Object, invalid error) (plan.Object, error) {
	var path string
	var value any
	switch typed := object.(type) {
	case *corev1.Service:
		path, value = "/spec/ports", typed.Spec.Ports
	case *appsv1.Deployment:
		path, value = "/spec/template", typed.Spec.Template
	default:
		return nil, invalid
	}
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": path, "value": value}})
	if err != nil {
		return nil, fmt.Errorf("building the patch for %s: %w", object.GetName(), err)
	}
	target, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return nil, invalid
	}
	if err := a.Writer.Patch(ctx, target, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(fieldManager)); err != nil {
		return nil, errors.Join(invalid, err)
	}
	return a.serverSideApply(ctx, object)
}

// mustBeFree fails if an object of that name exists and this resource does not control it.
func (a *Actor) mustBeFree(ctx context.Context, on *subject, object plan.Object) error {
	gvk := object.GetObjectKind().GroupVersionKind()
	var found metav1.PartialObjectMetadata
	found.SetGroupVersionKind(gvk)
	err := a.Live.Get(ctx, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}, &found)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("looking for %s %s: %w", gvk.Kind, object.GetName(), err)
	case !metav1.IsControlledBy(&found, on.resource):
		return &plan.NameConflictError{Kind: gvk.Kind, Name: object.GetName()}
	}
	return nil
}

// delete removes an object, if it still is the one that was seen. Only a disruption budget ever comes to be unwanted.
func (a *Actor) delete(ctx context.Context, on *subject, action plan.Delete) error {
	if action.Key.Kind != "PodDisruptionBudget" {
		return fmt.Errorf("objects of kind %s are never removed", action.Key.Kind)
	}
	object := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: on.snapshot.Want.Key.Namespace, Name: action.Key.Name}}
	if err := a.Writer.Delete(ctx, object, client.Preconditions{UID: &action.UID}); err != nil {
		return fmt.Errorf("deleting %s %s: %w", action.Key.Kind, action.Key.Name, err)
	}
	a.Applied.Forget(action.UID)
	a.Written.Forget(action.UID)
	return nil
}

// createSeed makes the Secret with the seed. If another operator was faster, its seed counts.
func (a *Actor) createSeed(ctx context.Context, on *subject) error {
	want := &on.snapshot.Want
	seed := a.Credentials.SeedOrNew(want.UID)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: resources.SecretName(want.Key.Name), Namespace: want.Key.Namespace, Labels: resources.Labels(want.Key.Name),
			OwnerReferences: []metav1.OwnerReference{resources.OwnerReference(want)},
		},
		Data: map[string][]byte{plan.SeedKey: seed},
	}
	err := a.Writer.Create(ctx, secret, client.FieldOwner(fieldManager+"-seed"))
	if apierrors.IsAlreadyExists(err) {
		return a.adoptSeed(ctx, on, secret, seed)
	}
	if err != nil {
		return fmt.Errorf("creating Secret %s: %w", secret.Name, err)
	}
	return a.seedWritten(on, secret)
}

// adoptSeed takes the seed of a Secret that exists, or puts one in if it was removed from it.
func (a *Actor) adoptSeed(ctx context.Context, on *subject, secret *corev1.Secret, seed []byte) error {
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return fmt.Errorf("reading Secret %s: %w", secret.Name, err)
	}
	orphan := metav1.GetControllerOf(secret) == nil && labels.SelectorFromSet(resources.Labels(on.snapshot.Want.Key.Name)).Matches(labels.Set(secret.Labels))
	if !orphan && !metav1.IsControlledBy(secret, on.resource) {
		return &plan.NameConflictError{Kind: "Secret", Name: secret.Name}
	}
	if len(secret.Data[plan.SeedKey]) == 0 {
		base := secret.DeepCopy()
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[plan.SeedKey] = seed
		patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
		if err := a.Writer.Patch(ctx, secret, patch, client.FieldOwner(fieldManager+"-seed")); err != nil {
			return fmt.Errorf("putting a seed into Secret %s: %w", secret.Name, err)
		}
	}
	return a.seedWritten(on, secret)
}

// seedWritten remembers the seed, and that the Secret exists although the cache does not show it yet.
func (a *Actor) seedWritten(on *subject, secret *corev1.Secret) error {
	if len(secret.Data[plan.SeedKey]) == 0 {
		return errors.New("the API server returned a Secret without its seed")
	}
	a.Credentials.Remember(on.snapshot.Want.UID, secret.Data[plan.SeedKey])
	a.Written.Wrote("Secret", secret)
	return nil
}

// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=create;patch

// pointService writes the Service's EndpointSlice: one write, one endpoint.
func (a *Actor) pointService(ctx context.Context, on *subject, action plan.PointService) error {
	if on.snapshot.Objects.PrimarySlice == nil {
		if err := a.mustBeFree(ctx, on, action.Slice); err != nil {
			return err
		}
	}
	claim := on.resource.Status.Claim
	if claim == nil || claim.Primary.Name != action.Pod {
		return notNow("the claim does not name %s any more", action.Pod)
	}
	result, err := a.serverSideApply(ctx, action.Slice)
	if err != nil {
		return err
	}
	a.Written.Wrote("EndpointSlice", result)
	return nil
}
