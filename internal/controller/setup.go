package controller

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/resources"
)

const (
	// shortestPause and longestPause bound the pause after a failed reconcile. The longest is short: whatever is mended should
	// be noticed within half a minute even where nothing tells.
	shortestPause = 20 * time.Millisecond
	longestPause  = 30 * time.Second
)

// SetupWithManager registers the reconciler and all that wakes it. wakes has the resources whose nodes changed.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, wakes <-chan event.GenericEvent, workers int) error {
	byLabel := r.forgetting(handler.EnqueueRequestsFromMapFunc(resourceOf))
	return ctrl.NewControllerManagedBy(mgr).
		Named("rediscluster").
		For(&cachev1.RedisCluster{}, builder.WithPredicates(specOrStatus())).
		Watches(&corev1.Pod{}, byLabel).
		Watches(&appsv1.Deployment{}, byLabel).
		Watches(&corev1.Service{}, byLabel).
		Watches(&corev1.ConfigMap{}, byLabel).
		Watches(&policyv1.PodDisruptionBudget{}, byLabel).
		Watches(&discoveryv1.EndpointSlice{}, byLabel).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(resourcesOnNode(mgr.GetCache())), builder.WithPredicates(cordoned())).
		WatchesMetadata(&corev1.Secret{}, r.forgetting(handler.EnqueueRequestsFromMapFunc(r.resourcesOfSecret(mgr.GetCache())))).
		WatchesRawSource(source.Channel(wakes, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			NeedLeaderElection:      new(false), // a standby looks, and does no more
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](shortestPause, longestPause),
		}).
		Complete(r)
}

// specOrStatus lets a change of the resource through unless only labels, or annotations that are not ours, changed. The status
// counts: it holds the claim, which someone may have wiped. Our own status writes come back too and find nothing to do.
func specOrStatus() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, isBefore := e.ObjectOld.(*cachev1.RedisCluster)
		after, isAfter := e.ObjectNew.(*cachev1.RedisCluster)
		if !isBefore || !isAfter {
			return true
		}
		return before.Generation != after.Generation || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			!sameStatus(before, after) ||
			before.Annotations[cachev1.AnnotationConfirmDead] != after.Annotations[cachev1.AnnotationConfirmDead] ||
			before.Annotations[cachev1.AnnotationSwitchover] != after.Annotations[cachev1.AnnotationSwitchover]
	}}
}

// resourceOf finds the resource that an object belongs to by its labels.
func resourceOf(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[resources.LabelInstance]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// resourcesOfSecret finds the resources that own a Secret or take their password from it.
func (r *Reconciler) resourcesOfSecret(cache client.Reader) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "RedisCluster" {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name}}}
		}
		var list cachev1.RedisClusterList
		if err := cache.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
			return nil // the cache ends only with the operator
		}
		var found []reconcile.Request
		for i := range list.Items {
			if secret := list.Items[i].Spec.PasswordSecret; secret != nil && secret.Name == o.GetName() {
				found = append(found, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
		return found
	}
}

// cordoned lets a Kubernetes node through when it is cordoned or no longer is.
func cordoned() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, isBefore := e.ObjectOld.(*corev1.Node)
			after, isAfter := e.ObjectNew.(*corev1.Node)
			return isBefore && isAfter && before.Spec.Unschedulable != after.Spec.Unschedulable
		},
	}
}

// resourcesOnNode finds the resources that have pods on a Kubernetes node.
func resourcesOnNode(cache client.Reader) handler.MapFunc {
	return func(ctx context.Context, node client.Object) []reconcile.Request {
		var pods corev1.PodList
		if err := cache.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
			return nil // the cache ends only with the operator
		}
		var found []reconcile.Request
		for i := range pods.Items {
			if pods.Items[i].Spec.NodeName == node.GetName() {
				found = append(found, resourceOf(ctx, &pods.Items[i])...)
			}
		}
		return found
	}
}

// forgetting drops what is remembered of own writes to an object once it is deleted, before the resource is looked at again, and
// takes note of how a pod ended.
func (r *Reconciler) forgetting(next handler.EventHandler) handler.EventHandler {
	return forgetful{EventHandler: next, reconciler: r}
}

type forgetful struct {
	handler.EventHandler

	reconciler *Reconciler
}

// Delete implements handler.EventHandler.
func (f forgetful) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	f.reconciler.Actor.Written.Forget(e.Object.GetUID())
	f.reconciler.Actor.Applied.Forget(e.Object.GetUID())
	if pod, is := e.Object.(*corev1.Pod); is {
		f.reconciler.Observer.PodGone(pod)
	}
	f.EventHandler.Delete(ctx, e, queue)
}
