package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

const redisName = "r"

// redis is the resource that is measured, in a namespace of its own.
type redis struct {
	kube      *cluster
	namespace string
}

// newRedis creates the resource and waits until it is Running. Its processes get as much of the machine as they need.
func newRedis(ctx context.Context, kube *cluster, namespace string, f *fault) (*redis, error) {
	r := &redis{kube: kube, namespace: namespace}
	wanted := &cachev1.RedisCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: redisName},
		Spec: cachev1.RedisClusterSpec{
			Size: f.size, Image: image(), Failover: cachev1.FailoverSpec{Policy: f.policy},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
			},
		},
	}
	if err := kube.Create(ctx, wanted); err != nil {
		return nil, err
	}
	_, err := r.awaitRunning(ctx)
	return r, err
}

func (r *redis) get(ctx context.Context) (*cachev1.RedisCluster, error) {
	var now cachev1.RedisCluster
	err := r.kube.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: redisName}, &now)
	return &now, err
}

// change makes a change of the resource's spec or metadata.
func (r *redis) change(ctx context.Context, change func(now *cachev1.RedisCluster)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now, err := r.get(ctx)
		if err != nil {
			return err
		}
		before := now.DeepCopy()
		change(now)
		return r.kube.Patch(ctx, now, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}

// awaitRunning waits until the status is about the newest spec and says that everything is there, and all else holds that is asked.
func (r *redis) awaitRunning(ctx context.Context, and ...func(ctx context.Context, now *cachev1.RedisCluster) error) (*cachev1.RedisCluster, error) {
	var now *cachev1.RedisCluster
	err := poll(ctx, "the resource is Running", settling, func(ctx context.Context) (err error) {
		if now, err = r.get(ctx); err != nil {
			return err
		}
		if err := runs(now); err != nil {
			return err
		}
		for _, also := range and {
			if err := also(ctx, now); err != nil {
				return err
			}
		}
		return nil
	})
	return now, err
}

// runs tells whether the status says that everything is there.
func runs(now *cachev1.RedisCluster) error {
	s := &now.Status
	if s.ObservedGeneration != now.Generation || s.Phase != cachev1.PhaseRunning || s.ReadyReplicas != now.Spec.Size ||
		len(s.Nodes) != int(now.Spec.Size) || s.Primary == "" {
		return fmt.Errorf("phase %s, generation %d (%d seen), %d of %d ready, nodes %v, primary %q, %s", s.Phase, now.Generation,
			s.ObservedGeneration, s.ReadyReplicas, now.Spec.Size, s.Nodes, s.Primary, degradedText(now))
	}
	return nil
}

func degradedText(now *cachev1.RedisCluster) string {
	if c := meta.FindStatusCondition(now.Status.Conditions, cachev1.ConditionDegraded); c != nil {
		return c.Reason + ": " + c.Message
	}
	return "no condition Degraded"
}

// anotherPrimary holds once the primary is another pod.
func anotherPrimary(than string) func(context.Context, *cachev1.RedisCluster) error {
	return func(_ context.Context, now *cachev1.RedisCluster) error {
		if now.Status.Primary == than {
			return fmt.Errorf("%s is still the primary", than)
		}
		return nil
	}
}

// gone holds once a pod is none of the nodes.
func gone(pod string) func(context.Context, *cachev1.RedisCluster) error {
	return func(_ context.Context, now *cachev1.RedisCluster) error {
		if slices.Contains(now.Status.Nodes, pod) {
			return fmt.Errorf("%s is still there", pod)
		}
		return nil
	}
}

// restarted holds once pods run another process than they did.
func (r *redis) restarted(pods ...*corev1.Pod) func(context.Context, *cachev1.RedisCluster) error {
	return func(ctx context.Context, _ *cachev1.RedisCluster) error {
		for _, pod := range pods {
			now, err := r.pod(ctx, pod.Name)
			if err != nil {
				return err
			}
			if restarts(now) == restarts(pod) {
				return fmt.Errorf("%s has not restarted", pod.Name)
			}
		}
		return nil
	}
}

func restarts(pod *corev1.Pod) int32 {
	if len(pod.Status.ContainerStatuses) == 0 {
		return 0
	}
	return pod.Status.ContainerStatuses[0].RestartCount
}

// pods are those of the resource that are not being deleted, by name.
func (r *redis) pods(ctx context.Context) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := r.kube.List(ctx, &list, client.InNamespace(r.namespace), client.MatchingLabels{"app.kubernetes.io/instance": redisName}); err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			pods = append(pods, &list.Items[i])
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

func (r *redis) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	var pod corev1.Pod
	err := r.kube.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, &pod)
	return &pod, err
}

// service is the address and port of the Service that leads to the primary. It is its address and not its name, since the names'
// server is not what is measured.
func (r *redis) service(ctx context.Context) (string, error) {
	var service corev1.Service
	err := r.kube.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: redisName}, &service)
	return net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(6379)), err
}

// address is where the primary itself listens.
func (r *redis) address(ctx context.Context) (string, error) {
	now, err := r.get(ctx)
	if err != nil {
		return "", err
	}
	pod, err := r.pod(ctx, now.Status.Primary)
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(6379)), err
}

// renew replaces the pods whose container has restarted: each restart makes the kubelet wait longer before the next, up to five
// minutes, and that is not what is measured.
func (r *redis) renew(ctx context.Context) error {
	pods, err := r.pods(ctx)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if restarts(pod) == 0 {
			continue
		}
		if err := r.kube.Delete(ctx, pod); err != nil {
			return err
		}
		if _, err := r.awaitRunning(ctx, gone(pod.Name)); err != nil {
			return err
		}
	}
	return nil
}

// events counts those of a reason.
func (r *redis) events(ctx context.Context, reason string) (int, error) {
	var list corev1.EventList
	if err := r.kube.List(ctx, &list, client.InNamespace(r.namespace)); err != nil {
		return 0, err
	}
	count := 0
	for i := range list.Items {
		switch event := &list.Items[i]; {
		case event.Reason != reason:
		case event.Series != nil:
			count += int(event.Series.Count)
		default:
			count += max(1, int(event.Count))
		}
	}
	return count, nil
}

// degraded is nil if the resource is degraded for a reason, in a message that names something.
func degraded(now *cachev1.RedisCluster, reason, names string) error {
	c := meta.FindStatusCondition(now.Status.Conditions, cachev1.ConditionDegraded)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason || !strings.Contains(c.Message, names) {
		return errors.New("it says " + degradedText(now))
	}
	return nil
}
