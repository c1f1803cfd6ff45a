package sim

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/redis-operator/internal/resources"
)

// controllers is Kubernetes' controllers, a few times a second: the Deployment's, and each kubelet's look at readiness.
func (w *world) controllers() {
	w.later(w.between(90*time.Millisecond, 110*time.Millisecond), w.controllers)
	for _, p := range w.pods {
		object := w.object(p)
		if object != nil && p.ip != "" && (condition(object, corev1.ContainersReady) != p.probe() ||
			condition(object, corev1.PodReady) != (p.probe() && condition(object, inSync))) {
			w.podStatus(p)
		}
	}
	if w.store.version == w.rolledOut {
		return // nothing has changed since it found nothing to do
	}
	w.rolledOut = w.store.version
	if d, ok := w.store.get(objectKey{"Deployment", resources.WorkloadName(key.Name)}).(*appsv1.Deployment); ok {
		w.rollOut(d)
	}
}

// rollOut makes the pods of a Deployment with maxSurge 1 and maxUnavailable 0.
func (w *world) rollOut(d *appsv1.Deployment) {
	revision, want := revisionOf(d), int(*d.Spec.Replicas)
	var current, old []*corev1.Pod
	ready := 0
	for _, p := range w.pods {
		object := w.object(p)
		switch {
		case object == nil || p.terminating:
			continue
		case object.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == revision:
			current = append(current, object)
		default:
			old = append(old, object)
		}
		ready += number(condition(object, corev1.PodReady))
	}
	total := len(current) + len(old)
	switch {
	case len(current) < want && total < want+number(len(old) > 0):
		w.createPod(d, revision)
	case len(current) > want || (len(old) == 0 && total > want):
		w.checkScaleDown(firstToGo(current))
		w.scaleDown(current)
		// A rollout takes the primary away: planned moves of the primary are not built yet.
	case len(old) > 0 && (ready > want || (total > want && !condition(firstToGo(old), corev1.PodReady))):
		w.scaleDown(old)
	}
	w.deploymentStatus(d, total, len(current), ready)
}

// scaleDown removes the pod that a ReplicaSet removes first: not ready before ready, then by deletion cost, then the youngest.
func (w *world) scaleDown(pods []*corev1.Pod) {
	victim := firstToGo(pods)
	for _, p := range w.pods {
		if p.uid == string(victim.UID) {
			w.tell("replica set: removes %s", p.short)
			w.deletePod(p)
		}
	}
}

func firstToGo(pods []*corev1.Pod) *corev1.Pod {
	cost := func(p *corev1.Pod) int {
		cost, _ := strconv.Atoi(p.Annotations["controller.kubernetes.io/pod-deletion-cost"])
		return cost
	}
	return slices.MinFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(
			cmp.Compare(number(condition(a, corev1.PodReady)), number(condition(b, corev1.PodReady))),
			cmp.Compare(cost(a), cost(b)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			cmp.Compare(a.UID, b.UID),
		)
	})
}

func (w *world) createPod(d *appsv1.Deployment, revision string) {
	serial := w.number()
	p := &pod{
		in: w, short: "p" + strconv.Itoa(serial), name: fmt.Sprintf("%s-%s-p%d", d.Name, revision, serial), uid: fmt.Sprintf("pod-%d", serial),
		machine: w.schedule(),
	}
	if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
		p.preStop = containers[0].Lifecycle != nil && containers[0].Lifecycle.PreStop != nil
	}
	object := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: p.name, UID: types.UID(p.uid),
			Labels: map[string]string{}, Annotations: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: d.Name + "-" + revision, UID: types.UID(revision), Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: p.machine, Containers: []corev1.Container{{
			Name: resources.ContainerName, Ports: []corev1.ContainerPort{{ContainerPort: port}},
		}}},
	}
	maps.Copy(object.Labels, d.Spec.Template.Labels)
	maps.Copy(object.Annotations, d.Spec.Template.Annotations)
	object.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = revision
	w.pods = append(w.pods, p)
	w.store.put(object)
	w.tell("replica set: makes %s", p.short)
	w.later(w.between(50*time.Millisecond, 900*time.Millisecond), func() { w.startPod(p) })
}

func (w *world) deploymentStatus(d *appsv1.Deployment, total, current, ready int) {
	before := &d.Status
	if before.ObservedGeneration == d.Generation && before.Replicas == int32(total) && before.UpdatedReplicas == int32(current) && before.ReadyReplicas == int32(ready) {
		return
	}
	next := d.DeepCopy()
	next.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: int32(total), UpdatedReplicas: int32(current), ReadyReplicas: int32(ready), AvailableReplicas: int32(ready),
	}
	w.store.put(next)
}

func revisionOf(d *appsv1.Deployment) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(d.Annotations[resources.AnnotationPodTemplate]))
	return fmt.Sprintf("%x", sum.Sum32())
}
