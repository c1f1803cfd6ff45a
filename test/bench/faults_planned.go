package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// inARow is how many switchovers one run of switchovers-in-a-row has.
const inARow = 20

// plannedFaults are all that somebody wants to happen.
func plannedFaults() []*fault {
	return []*fault{
		{name: "switchover", says: "the annotation switchover names another pod", bar: plannedBar, strike: switchover},
		{name: "cordon", says: "kubectl cordon of the primary's machine", bar: plannedBar, strike: cordon},
		{name: "drain", says: "kubectl drain of the primary's machine", bar: plannedBar, strike: drain},
		{
			// The writers start anew every 20 switchovers, so that their keys fit into memory.
			name: "switchovers-in-a-row", says: "20 switchovers a run, 200 in all", runs: 10, each: true, farQuantile: 0.99,
			bar: bar{100 * time.Millisecond, 150 * time.Millisecond}, strike: func(ctx context.Context, r *run) error {
				for range inARow {
					if err := switchover(ctx, r); err != nil {
						return err
					}
				}
				return nil
			},
		},
		{name: "rollout-image", says: "another image: all pods are replaced", bar: plannedBar, strike: rolloutImage},
		{name: "rollout-resources", says: "another request of memory", bar: plannedBar, strike: rolloutResources},
		{
			name: "scale-5-to-1", says: "size 5 becomes 1", size: 5, bar: plannedBar, unconfirmed: true,
			strike: func(ctx context.Context, r *run) error { return resize(ctx, r, 1) }, after: sizeAgain,
		},
		{
			name: "scale-1-to-5", says: "size 1 becomes 5", size: 1, bar: plannedBar, unconfirmed: true,
			strike: func(ctx context.Context, r *run) error { return resize(ctx, r, 5) }, after: sizeAgain,
		},
	}
}

// switchover names a pod that is not the primary, and waits until it is.
func switchover(ctx context.Context, r *run) error {
	now, err := r.awaitRunning(ctx)
	if err != nil {
		return err
	}
	target := ""
	for _, name := range now.Status.Nodes {
		if name != now.Status.Primary {
			target = name
		}
	}
	r.now()
	if err := r.annotate(ctx, target); err != nil {
		return err
	}
	_, err = r.awaitRunning(ctx, anotherPrimary(now.Status.Primary))
	return err
}

func (r *run) annotate(ctx context.Context, target string) error {
	return r.change(ctx, func(now *cachev1.RedisCluster) {
		if now.Annotations == nil {
			now.Annotations = map[string]string{}
		}
		now.Annotations[cachev1.AnnotationSwitchover] = target
	})
}

// cordonPrimary makes the primary's machine take no more pods, until the run ends.
func (r *run) cordonPrimary(ctx context.Context) error {
	r.undo.add("uncordon "+r.primary.Spec.NodeName, r.kube.uncordonAll)
	r.now()
	return r.kube.cordon(ctx, r.primary.Spec.NodeName, true)
}

func cordon(ctx context.Context, r *run) error {
	if err := r.cordonPrimary(ctx); err != nil {
		return err
	}
	_, err := r.awaitRunning(ctx, anotherPrimary(r.primary.Name))
	return err
}

// drain does what kubectl drain does, to the pods that are the measurement's business: what else runs on the machine stays there.
func drain(ctx context.Context, r *run) error {
	if err := r.cordonPrimary(ctx); err != nil {
		return err
	}
	node := r.primary.Spec.NodeName
	if err := poll(ctx, "the drain of "+node, settling, func(ctx context.Context) error {
		var waits []error
		for _, namespace := range []string{r.namespace, operatorNamespace} {
			var pods corev1.PodList
			if err := r.kube.List(ctx, &pods, client.InNamespace(namespace), client.MatchingFields{"spec.nodeName": node}); err != nil {
				return err
			}
			for i := range pods.Items {
				waits = append(waits, r.evict(ctx, &pods.Items[i]))
			}
		}
		return errors.Join(waits...)
	}); err != nil {
		return err
	}
	_, err := r.awaitRunning(ctx, gone(r.primary.Name))
	return err
}

// evict is nil once the pod is gone. A budget may forbid it for now.
func (r *run) evict(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp.IsZero() {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		err := r.kube.core.PolicyV1().Evictions(pod.Namespace).Evict(ctx, eviction)
		if err != nil && !apierrors.IsTooManyRequests(err) {
			return client.IgnoreNotFound(err)
		}
	}
	return fmt.Errorf("pod %s is still there", pod.Name)
}

// rolloutImage goes to the other name of the same image, and the next time back.
func rolloutImage(ctx context.Context, r *run) error {
	other, err := r.otherImage()
	if err != nil {
		return err
	}
	return r.rollOut(ctx, func(now *cachev1.RedisCluster) {
		if now.Spec.Image == other {
			now.Spec.Image = image()
		} else {
			now.Spec.Image = other
		}
	})
}

func rolloutResources(ctx context.Context, r *run) error {
	return r.rollOut(ctx, func(now *cachev1.RedisCluster) {
		request := resource.MustParse("64Mi")
		if now.Spec.Resources.Requests[corev1.ResourceMemory] == request {
			request = resource.MustParse("72Mi")
		}
		now.Spec.Resources.Requests[corev1.ResourceMemory] = request
	})
}

func (r *run) rollOut(ctx context.Context, change func(now *cachev1.RedisCluster)) error {
	r.now()
	if err := r.change(ctx, change); err != nil {
		return err
	}
	_, err := r.awaitRunning(ctx)
	return err
}

// otherImage is one that differs in its name only: the cluster's nodes must have it, or be able to pull it.
func (r *run) otherImage() (string, error) {
	if other := os.Getenv("BENCH_OTHER_IMAGE"); other != "" {
		return other, nil
	}
	if r.kube.local == nil {
		return "", errors.New("set BENCH_OTHER_IMAGE to another image of the same version that the nodes can pull")
	}
	const other = "redis:bench"
	return other, r.kube.local.loadUnderSecondName("dist/images/redis-7.0.tar", "docker.io/library/"+other)
}

func resize(ctx context.Context, r *run, size int32) error {
	r.now()
	if err := r.setSize(ctx, size); err != nil {
		return err
	}
	_, err := r.awaitRunning(ctx)
	return err
}

// sizeAgain is for after the report: the way back is measured by another fault.
func sizeAgain(ctx context.Context, r *run) error {
	if err := r.setSize(ctx, r.fault.size); err != nil {
		return err
	}
	_, err := r.awaitRunning(ctx)
	return err
}

func (r *run) setSize(ctx context.Context, size int32) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, size))
	now := &cachev1.RedisCluster{}
	now.Namespace, now.Name = r.namespace, redisName
	return r.kube.Patch(ctx, now, patch)
}
