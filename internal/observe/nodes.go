package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/expectations"
	"example.com/redis-operator/internal/monitor"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get

// nodes fills in the Redis pods with what each last said, and tells the monitor whom to watch.
func (o *Observer) nodes(ctx context.Context, s *state.Snapshot, m *memory) error {
	var pods corev1.PodList
	if err := o.Cache.List(ctx, &pods, client.InNamespace(s.Want.Key.Namespace), client.MatchingLabels(resources.Selector(s.Want.Key.Name)),
		client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing pods of %s: %w", s.Want.Key, err)
	}
	var targets []monitor.Target
	for i := range pods.Items {
		pod := expectations.Newest(o.Written, &pods.Items[i])
		if !belongs(pod, resources.WorkloadName(s.Want.Key.Name)) || pod.CreationTimestamp.Time.Before(s.Want.Created) {
			continue
		}
		if finished(pod) {
			m.departed[pod.UID] = state.Departed{Since: o.Now(), Ended: true}
			continue
		}
		n := state.Node{Pod: podOf(pod)}
		s.Nodes = append(s.Nodes, n)
		if n.Pod.IP != "" && s.Want.Access.SeedKnown {
			targets = append(targets, monitor.Target{
				Namespace: pod.Namespace, Pod: pod.Name, UID: pod.UID, IP: n.Pod.IP, Port: n.Pod.RedisPort,
				Username: credentials.OperatorUser, Logins: []monitor.Login{{Password: o.Credentials.OperatorPassword(s.Want.UID)}},
			})
		}
	}
	slices.SortFunc(s.Nodes, func(a, b state.Node) int { return cmp.Compare(a.Pod.Name, b.Pod.Name) })
	o.Nodes.Watch(s.Want.Key, targets)
	answers := o.Nodes.Observations(s.Want.Key)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if heard, ok := answers[n.Pod.UID]; ok {
			n.Redis, n.Link, n.LinkSince, n.Heard = heard.Redis, heard.Link, heard.LinkSince, heard.Heard
			n.AccessHash, n.ReplicationGeneration, n.AttachedAt = heard.AccessHash, heard.ReplicationGeneration, heard.AttachedAt
			n.OperatorGeneration = heard.OperatorGeneration
			n.FencedSince, n.DemotedAt, n.QuorumMark = heard.FencedSince, heard.DemotedAt, heard.QuorumMark
		}
	}
	o.departed(ctx, s, m)
	return nil
}

// departed fills in what is known of a claimed pod that is gone, from how it was when last seen.
func (o *Observer) departed(ctx context.Context, s *state.Snapshot, m *memory) {
	present := map[types.UID]state.Node{}
	for i := range s.Nodes {
		present[s.Nodes[i].Pod.UID] = s.Nodes[i]
	}
	if s.Claim != nil && s.Claimed() == nil {
		uid := s.Claim.Primary.UID
		known, seen := m.departed[uid]
		if !seen {
			last := m.last[uid]
			known = state.Departed{Since: o.Now(), Ended: last.Pod.Container.Ended || last.Link == state.LinkRefused, Graceful: last.Pod.Terminating}
			m.departed[uid] = known
		}
		if !known.Ended {
			known.Machine = o.machine(ctx, s.Claim.Primary.NodeName)
		}
		s.Departed = map[types.UID]state.Departed{uid: known}
	}
	m.last = present
	if s.Claim != nil {
		maps.DeleteFunc(m.departed, func(uid types.UID, _ state.Departed) bool { return uid != s.Claim.Primary.UID })
	}
}

// belongs tells whether a pod was made by the workload: by a ReplicaSet that bears the workload's name and the pod's hash.
// Labels alone prove nothing; anyone may write them. (Pods older than the resource are of one that had its name before.)
func belongs(pod *corev1.Pod, workload string) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "ReplicaSet" && owner.Name == workload+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

// finished tells whether all containers of a pod have ended for good (it was evicted, say); its workload has replaced it.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// podOf is what Kubernetes says of a pod, as plain values.
func podOf(pod *corev1.Pod) state.Pod {
	p := state.Pod{
		Name: pod.Name, UID: pod.UID, IP: pod.Status.PodIP, NodeName: pod.Spec.NodeName, Created: pod.CreationTimestamp.Time,
		Labels: pod.Labels, Annotations: pod.Annotations, Revision: pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey],
		Terminating: !pod.DeletionTimestamp.IsZero(),
	}
	for _, condition := range pod.Status.Conditions {
		isTrue := condition.Status == corev1.ConditionTrue
		switch condition.Type {
		case corev1.PodReady:
			p.Ready = isTrue
		case corev1.ContainersReady:
			p.ContainersReady = isTrue
		case cachev1.GateInSync:
			p.GateSet, p.InSync = true, isTrue
		case corev1.PodScheduled:
			if condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable {
				p.Unschedulable = condition.Message
			}
		}
	}
	for i := range pod.Spec.Containers {
		if container := &pod.Spec.Containers[i]; container.Name == resources.ContainerName && len(container.Ports) > 0 {
			p.RedisPort = container.Ports[0].ContainerPort
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == resources.ContainerName {
			p.Container = containerOf(&pod.Status.ContainerStatuses[i])
		}
	}
	return p
}

// containerOf is what the kubelet says of the Redis container, as plain values.
func containerOf(status *corev1.ContainerStatus) state.Container {
	c := state.Container{Running: status.State.Running != nil, Restarts: status.RestartCount}
	if waiting := status.State.Waiting; waiting != nil {
		c.Waiting, c.WaitingMessage = waiting.Reason, waiting.Message
	}
	ended := status.State.Terminated
	if ended == nil {
		ended = status.LastTerminationState.Terminated
	}
	if ended != nil {
		c.LastEnd = strings.TrimPrefix(fmt.Sprintf("%s, exit code %d", ended.Reason, ended.ExitCode), ", ")
	}
	c.Ended = !c.Running && ended != nil
	return c
}
