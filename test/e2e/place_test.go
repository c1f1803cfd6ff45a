//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

const (
	image = "redis:7.0"
	// settling is how long a change may take on a busy machine.
	settling = 2 * time.Minute
)

// place is a namespace of a test's own.
type place struct {
	t    *testing.T
	name string
}

// newPlace makes a namespace; it is removed with all in it when the test ends. A test that failed tells what was in it.
func newPlace(t *testing.T, labels ...string) *place {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: map[string]string{testLabel: strings.ToLower(t.Name())}}}
	namespace.Labels[testLabel] = strings.ToLower(strings.ReplaceAll(t.Name(), "/", "."))
	for i := 0; i+1 < len(labels); i += 2 {
		namespace.Labels[labels[i]] = labels[i+1]
	}
	require.NoError(t, kube.Create(t.Context(), namespace))
	p := &place{t: t, name: namespace.Name}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			p.tell(ctx)
		}
		assert.NoError(t, client.IgnoreNotFound(kube.Delete(ctx, namespace)))
	})
	return p
}

// tell logs what the namespace holds.
func (p *place) tell(ctx context.Context) {
	var clusters cachev1.RedisClusterList
	var pods corev1.PodList
	var events corev1.EventList
	for _, list := range []client.ObjectList{&clusters, &pods, &events} {
		if err := kube.List(ctx, list, client.InNamespace(p.name)); err != nil {
			p.t.Log("cannot list:", err)
		}
	}
	for i := range clusters.Items {
		c := &clusters.Items[i]
		p.t.Logf("%s: size %d, phase %s, generation %d (%d seen), ready %d, primary %s, nodes %v, claim %+v", c.Name, c.Spec.Size, c.Status.Phase,
			c.Generation, c.Status.ObservedGeneration, c.Status.ReadyReplicas, c.Status.Primary, c.Status.Nodes, c.Status.Claim)
		for _, condition := range c.Status.Conditions {
			p.t.Logf("  %s=%s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
		}
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		p.t.Logf("pod %s on %s at %s: %s, role %q, deleted %v, ready %v", pod.Name, pod.Spec.NodeName, pod.Status.PodIP, pod.Status.Phase,
			pod.Labels[cachev1.LabelRole], pod.DeletionTimestamp, podReady(pod))
	}
	for i := range events.Items {
		if e := &events.Items[i]; e.Type == corev1.EventTypeWarning || e.InvolvedObject.Kind == "RedisCluster" {
			p.t.Logf("event on %s %s: %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
	text, err := kube.operatorLogs(ctx, time.Time{})
	if err != nil {
		p.t.Log("no logs of the operator:", err)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"`+p.name+`"`) {
			p.t.Log(shortened(line))
		}
	}
}

// shortened is what a person wants to know of a line of the operator's log.
func shortened(line string) string {
	var l struct{ TS, Name, Pod, Msg, Because, Link, Reason, Error string }
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		return strings.TrimSpace(line)
	}
	return strings.Join(slices.DeleteFunc([]string{l.TS, l.Name + l.Pod, l.Msg, l.Because, l.Link, l.Reason, l.Error}, func(s string) bool { return s == "" }), " | ")
}

// key names an object of this namespace.
func (p *place) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: p.name, Name: name}
}

// redis is a resource, not created yet, that asks for little.
func (p *place) redis(name string, size int32) *cachev1.RedisCluster {
	return &cachev1.RedisCluster{
		ObjectMeta: at(p.name, name),
		Spec: cachev1.RedisClusterSpec{
			Size: size, Image: image,
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
			},
		},
	}
}

func (p *place) create(object client.Object) {
	p.t.Helper()
	require.NoError(p.t, kube.Create(p.t.Context(), object))
}

func (p *place) delete(object client.Object, options ...client.DeleteOption) {
	p.t.Helper()
	require.NoError(p.t, kube.Delete(p.t.Context(), object, options...))
}

// started creates a resource and waits until it is Running.
func (p *place) started(r *cachev1.RedisCluster) *cachev1.RedisCluster {
	p.t.Helper()
	p.create(r)
	return p.awaitRunning(r.Name)
}

// get reads a resource.
func (p *place) get(name string) *cachev1.RedisCluster {
	p.t.Helper()
	var r cachev1.RedisCluster
	require.NoError(p.t, kube.Get(p.t.Context(), p.key(name), &r))
	return &r
}

// change makes a change of a resource's spec or metadata.
func (p *place) change(name string, change func(r *cachev1.RedisCluster)) {
	p.t.Helper()
	require.NoError(p.t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var r cachev1.RedisCluster
		if err := kube.Get(p.t.Context(), p.key(name), &r); err != nil {
			return err
		}
		before := r.DeepCopy()
		change(&r)
		return kube.Patch(p.t.Context(), &r, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}))
}

func (p *place) resize(name string, size int32) {
	p.t.Helper()
	p.change(name, func(r *cachev1.RedisCluster) { r.Spec.Size = size })
}

// awaitRunning waits until the status is about the newest spec, and says that everything is there.
func (p *place) awaitRunning(name string) *cachev1.RedisCluster {
	p.t.Helper()
	return p.awaitStatus(name, "Running", settled)
}

func (p *place) awaitStatus(name, what string, is func(r *cachev1.RedisCluster) error) *cachev1.RedisCluster {
	p.t.Helper()
	var r cachev1.RedisCluster
	await(p.t, name+" is "+what, settling, func(ctx context.Context) error {
		r = cachev1.RedisCluster{}
		if err := kube.Get(ctx, p.key(name), &r); err != nil {
			return err
		}
		if r.Status.ObservedGeneration != r.Generation {
			return fmt.Errorf("the status is about generation %d, not %d", r.Status.ObservedGeneration, r.Generation)
		}
		return is(&r)
	})
	return &r
}

// awaitRunningWithout waits until the resource is Running, and not with that pod.
func (p *place) awaitRunningWithout(name, pod string) *cachev1.RedisCluster {
	p.t.Helper()
	return p.awaitStatus(name, "Running without "+pod, func(r *cachev1.RedisCluster) error {
		if slices.Contains(r.Status.Nodes, pod) {
			return fmt.Errorf("%s is among the nodes", pod)
		}
		return runs(r)
	})
}

// awaitAnotherPrimary waits until the resource is Running, with another primary than that pod.
func (p *place) awaitAnotherPrimary(name, pod string) *cachev1.RedisCluster {
	p.t.Helper()
	return p.awaitStatus(name, "Running, with another primary", func(r *cachev1.RedisCluster) error {
		if r.Status.Primary == pod {
			return fmt.Errorf("%s is the primary", pod)
		}
		return runs(r)
	})
}

// settled tells whether everything is there, and as many replicas as can be must confirm what is written.
func settled(r *cachev1.RedisCluster) error {
	if err := runs(r); err != nil {
		return err
	}
	if c := r.Status.Claim; c == nil || c.Quorum != r.Spec.Size/2 || len(c.Attached) != int(r.Spec.Size)-1 {
		return fmt.Errorf("it runs, and its claim is %+v", c)
	}
	return nil
}

// runs tells whether the status says that everything is there.
func runs(r *cachev1.RedisCluster) error {
	s := &r.Status
	if s.ObservedGeneration != r.Generation || s.Phase != cachev1.PhaseRunning || s.ReadyReplicas != r.Spec.Size || len(s.Nodes) != int(r.Spec.Size) || s.Primary == "" {
		return fmt.Errorf("phase %s, generation %d (%d seen), %d of %d ready, nodes %v, primary %q, %s", s.Phase, r.Generation, s.ObservedGeneration,
			s.ReadyReplicas, r.Spec.Size, s.Nodes, s.Primary, conditionText(r))
	}
	return nil
}

// degradedBy tells whether a resource is Degraded for a reason, in a message that has all of the words.
func degradedBy(reason string, words ...string) func(r *cachev1.RedisCluster) error {
	return func(r *cachev1.RedisCluster) error {
		c := meta.FindStatusCondition(r.Status.Conditions, cachev1.ConditionDegraded)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason {
			return fmt.Errorf("not degraded by %s: phase %s, %s", reason, r.Status.Phase, conditionText(r))
		}
		for _, word := range words {
			if !strings.Contains(c.Message, word) {
				return fmt.Errorf("the message does not say %q: %s", word, c.Message)
			}
		}
		return nil
	}
}

func conditionText(r *cachev1.RedisCluster) string {
	var parts []string
	for _, c := range r.Status.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(parts, ", ")
}

// pods are the pods of a resource that are not being deleted, by name.
func (p *place) pods(name string) []corev1.Pod {
	p.t.Helper()
	pods, err := p.listPods(p.t.Context(), name)
	require.NoError(p.t, err)
	return pods
}

func (p *place) listPods(ctx context.Context, name string) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := kube.List(ctx, &list, client.InNamespace(p.name), client.MatchingLabels{"app.kubernetes.io/instance": name}); err != nil {
		return nil, err
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !pod.DeletionTimestamp.IsZero() })
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

// pod is the pod of that name.
func (p *place) pod(name string) *corev1.Pod {
	p.t.Helper()
	var pod corev1.Pod
	require.NoError(p.t, kube.Get(p.t.Context(), p.key(name), &pod))
	return &pod
}

// processes tells of each pod of a resource which process it is: UID and restarts. It changes with any pod or restart.
func (p *place) processes(name string) map[string]string {
	p.t.Helper()
	processes := map[string]string{}
	for _, pod := range p.pods(name) {
		processes[pod.Name] = processOf(&pod)
	}
	return processes
}

func processOf(pod *corev1.Pod) string {
	restarts := int32(0)
	for _, s := range pod.Status.ContainerStatuses {
		restarts += s.RestartCount
	}
	return fmt.Sprintf("%s, %d restarts", pod.UID, restarts)
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// gone waits until an object does not exist any more.
func (p *place) gone(object client.Object) {
	p.t.Helper()
	await(p.t, object.GetName()+" is gone", settling, func(ctx context.Context) error {
		return goneError(kube.Get(ctx, client.ObjectKeyFromObject(object), object), object.GetName())
	})
}
