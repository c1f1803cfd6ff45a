package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch

// nodes fills in the Redis pods with what each last said, and tells the monitor whom to watch.
func (o *Observer) nodes(ctx context.Context, s *state.Snapshot, m *memory) error {
	var pods corev1.PodList
	if err := o.Cache.List(ctx, &pods, client.InNamespace(s.Want.Key.Namespace), client.MatchingLabels(resources.Selector(s.Want.Key.Name)),
		client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing pods of %s: %w", s.Want.Key, err)
	}
	var targets []monitor.Target
	since := oldest(s)
	for i := range pods.Items {
		pod := expectations.Newest(o.Written, &pods.Items[i])
		if !belongs(pod, resources.WorkloadName(s.Want.Key.Name)) || pod.CreationTimestamp.Time.Before(since) {
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
				Username: credentials.OperatorUser,
			})
		}
	}
	slices.SortFunc(s.Nodes, func(a, b state.Node) int { return cmp.Compare(a.Pod.Name, b.Pod.Name) })
	if len(targets) > 0 {
		logins := o.logins(s)
		for i := range targets {
			targets[i].Logins = logins
		}
	}
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
	ended(s, m)
	return o.machines(ctx, s)
}

// oldest is the time before which no pod of the resource was made: pods older than the resource are of one that had its name
// before; unless it adopted that one's workload.
func oldest(s *state.Snapshot) time.Time {
	if w := s.Objects.Workload; w != nil && w.CreationTimestamp.Time.Before(s.Want.Created) {
		return w.CreationTimestamp.Time
	}
	return s.Want.Created
}

const (
	// rememberedLogins is how many older passwords of the operator's are tried: a node that was away while several leaders took
	// over still has an old one.
	rememberedLogins = 8
	// possibleLogins is how many are tried where the record was lost: as many leaders may have taken over.
	possibleLogins = 256
)

// logins are the passwords by which a node may let the operator in, the likeliest first: the one on record, those before it, and
// the one that every node boots with.
func (o *Observer) logins(s *state.Snapshot) []monitor.Login {
	var logins []monitor.Login
	add := func(generation int64) {
		logins = append(logins, monitor.Login{Generation: generation, Password: o.Credentials.OperatorPassword(s.Want.UID, generation)})
	}
	if s.Claim != nil {
		for generation := s.Claim.OperatorGeneration; generation > 0 && len(logins) < rememberedLogins; generation-- {
			add(generation)
		}
	}
	add(0)
	for generation := int64(1); s.Claim == nil && s.EverHadRole() && generation < possibleLogins; generation++ {
		add(generation)
	}
	return logins
}

// departed fills in what is known of the claim's pods that are gone, from how each was when last seen.
func (o *Observer) departed(ctx context.Context, s *state.Snapshot, m *memory) {
	present := map[types.UID]state.Node{}
	for i := range s.Nodes {
		present[s.Nodes[i].Pod.UID] = s.Nodes[i]
	}
	s.Departed = map[types.UID]state.Departed{}
	for _, pod := range claimedPods(s.Claim) {
		if _, exists := present[pod.UID]; exists {
			continue
		}
		known, seen := m.departed[pod.UID]
		if !seen {
			last := m.last[pod.UID]
			ended := last.Pod.Container.Ended && !last.Answers() // of one that answers, it is late news of the process before
			known = state.Departed{Since: o.Now(), Ended: ended || o.hasEnded(pod.UID)}
			m.departed[pod.UID] = known
		}
		if !known.Ended {
			known.Machine = o.machine(ctx, pod.NodeName)
		}
		s.Departed[pod.UID] = known
	}
	m.last = present
	maps.DeleteFunc(m.departed, func(uid types.UID, _ state.Departed) bool { _, claimed := s.Departed[uid]; return !claimed })
}

// endingsKept is for how long it is kept that a pod that is gone had ended: until the next look at its resource, which comes soon.
const endingsKept = 10 * time.Minute

// PodGone takes note of how a pod was when its object went: the looks before and after may both have missed that it had ended. The
// kubelet says so, for good, before the object goes, unless it is removed by force (since Kubernetes 1.27). That a container had
// ended would not be enough: it may have been started again since.
func (o *Observer) PodGone(pod *corev1.Pod) {
	if !finished(pod) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.Now()
	maps.DeleteFunc(o.endings, func(_ types.UID, at time.Time) bool { return now.Sub(at) > endingsKept })
	if o.endings == nil {
		o.endings = map[types.UID]time.Time{}
	}
	o.endings[pod.UID] = now
}

func (o *Observer) hasEnded(uid types.UID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ended := o.endings[uid]
	return ended
}

// ended remembers that the claimed process has ended: the kubelet starts the container again, and then says no more of it.
func ended(s *state.Snapshot, m *memory) {
	n := s.Claimed()
	if n == nil {
		return
	}
	process := string(n.Pod.UID) + "/" + s.Claim.RunID
	if n.Pod.Container.Ended && !n.Answers() { // of one that answers, it is late news of the process before
		m.ended = process
	}
	s.PrimaryEnded = m.ended == process
}

// claimedPods are the pods of a claim: the primary, and those attached to it.
func claimedPods(c *cachev1.Claim) []cachev1.ClaimedPod {
	if c == nil {
		return nil
	}
	return append([]cachev1.ClaimedPod{c.Primary}, c.Attached...)
}

// machines fills in the Kubernetes nodes that the pods run on.
func (o *Observer) machines(ctx context.Context, s *state.Snapshot) error {
	s.Machines = map[string]state.Machine{}
	for i := range s.Nodes {
		name := s.Nodes[i].Pod.NodeName
		if _, known := s.Machines[name]; known || name == "" {
			continue
		}
		var node corev1.Node
		if err := o.Cache.Get(ctx, types.NamespacedName{Name: name}, &node); err != nil {
			if apierrors.IsNotFound(err) {
				continue
			}
			return fmt.Errorf("reading node %s: %w", name, err)
		}
		s.Machines[name] = state.Machine{Cordoned: node.Spec.Unschedulable}
	}
	return nil
}

// belongs tells whether a pod was made by the workload: by a ReplicaSet that bears the workload's name and the pod's hash.
// Labels alone prove nothing; anyone may write them.
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
	if p.Terminating { // the timestamp is by when it shall be gone
		p.Deleted = pod.DeletionTimestamp.Time
		if grace := pod.DeletionGracePeriodSeconds; grace != nil {
			p.Deleted = p.Deleted.Add(-time.Duration(*grace) * time.Second)
		}
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
		c.ExitCode = ended.ExitCode
		c.LastEnd = strings.TrimPrefix(fmt.Sprintf("%s, exit code %d", ended.Reason, ended.ExitCode), ", ")
	}
	c.Ended = !c.Running && ended != nil
	return c
}

// Left are the pods that a resource that is gone still has, of those that were watched. It is nil once there are none.
func (o *Observer) Left(ctx context.Context, key types.NamespacedName) []state.Node {
	var pods corev1.PodList
	if err := o.Cache.List(ctx, &pods, client.InNamespace(key.Namespace), client.MatchingLabels(resources.Selector(key.Name)), client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache ends only with the operator
	}
	answers := o.Nodes.Observations(key)
	var left []state.Node
	for i := range pods.Items {
		if heard, ok := answers[pods.Items[i].UID]; ok {
			left = append(left, state.Node{Pod: podOf(&pods.Items[i]), Redis: heard.Redis, Link: heard.Link})
		}
	}
	return left
}
