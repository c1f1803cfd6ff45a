//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// kubelet plays the scheduler and the kubelets for the pods of one namespace: it binds them to machines, runs their container
// as a process, and tells the API server what a kubelet would tell.
type kubelet struct {
	t         testing.TB
	client    kubernetes.Interface
	namespace string
	dir       string

	ctx context.Context
	wg  sync.WaitGroup

	mu   sync.Mutex
	pods map[types.UID]*playedPod
}

// playedPod is one pod, run by a goroutine of its own.
type playedPod struct {
	kubelet *kubelet
	dir     string
	ip      string
	// news has the newest pod object that is not dealt with yet; nil says that it was removed from the API server.
	news chan *corev1.Pod

	mu  sync.Mutex
	pod *corev1.Pod
	run *process

	restarts int32
	last     *corev1.ContainerStateTerminated
	ready    bool
	failed   int32
}

// addresses given out so far, in all namespaces. None is given twice.
var addresses atomic.Uint32

// bound counts the pods that were given a machine: one after the other gets the next.
var bound atomic.Uint32

func newAddress() string {
	n := addresses.Add(1) + 256
	return fmt.Sprintf("%d.%d.%d.%d", podNetwork[0], podNetwork[1], byte(n>>8), byte(n))
}

func startKubelet(t testing.TB, client kubernetes.Interface, namespace string) *kubelet {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background()) //nolint:usetesting // it has to outlive the test's context, to tell how processes end
	k := &kubelet{
		t: t, client: client, namespace: namespace, dir: t.TempDir(), ctx: ctx,
		pods: map[types.UID]*playedPod{},
	}
	source := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", namespace, fields.Everything())
	informer := cache.NewSharedInformer(source, &corev1.Pod{}, 0)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.see(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { k.see(o.(*corev1.Pod)) },
		DeleteFunc: func(o any) {
			if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = unknown.Obj
			}
			k.removed(o.(*corev1.Pod))
		},
	})
	require.NoError(t, err)
	k.wg.Go(func() { informer.RunWithContext(ctx) })
	t.Cleanup(func() {
		stop()
		k.wg.Wait()
	})
	return k
}

func (k *kubelet) see(pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[pod.UID]
	if p == nil {
		p = &playedPod{kubelet: k, news: make(chan *corev1.Pod, 1), dir: filepath.Join(k.dir, pod.Name)}
		k.pods[pod.UID] = p
		k.wg.Go(func() {
			defer func() {
				k.mu.Lock()
				delete(k.pods, pod.UID)
				k.mu.Unlock()
			}()
			if err := p.live(k.ctx); err != nil && k.ctx.Err() == nil {
				k.t.Errorf("the kubelet of pod %s: %v", pod.Name, err)
			}
		})
	}
	p.tell(pod)
}

func (k *kubelet) removed(pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pods[pod.UID]; p != nil {
		p.tell(nil)
	}
}

// tell replaces news that was not dealt with by newer.
func (p *playedPod) tell(pod *corev1.Pod) {
	select {
	case <-p.news:
	default:
	}
	p.news <- pod
}

// named finds a pod that has not ended by its name.
func (k *kubelet) named(name string) *playedPod {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		p.mu.Lock()
		found := p.pod != nil && p.pod.Name == name
		p.mu.Unlock()
		if found {
			return p
		}
	}
	return nil
}

// kill sends a signal to the Redis process of a pod. After SIGKILL it waits until the process is gone.
func (k *kubelet) kill(name string, signal syscall.Signal) {
	k.t.Helper()
	p := k.named(name)
	require.NotNil(k.t, p, "no pod %s runs", name)
	p.mu.Lock()
	run := p.run
	p.mu.Unlock()
	require.NotNil(k.t, run, "no process of pod %s runs", name)
	run.signal(signal)
	if signal == syscall.SIGKILL {
		<-run.ended
	}
}

// killAll kills the processes of all pods at once.
func (k *kubelet) killAll() {
	k.mu.Lock()
	all := make([]*playedPod, 0, len(k.pods))
	for p := range maps.Values(k.pods) {
		all = append(all, p)
	}
	k.mu.Unlock()
	for _, p := range all {
		p.mu.Lock()
		if p.run != nil {
			p.run.signal(syscall.SIGKILL)
		}
		p.mu.Unlock()
	}
}

const (
	// restartAfter is the pause before a container that ended is started again.
	restartAfter = 200 * time.Millisecond
	// unreadyProbe is how often a container that is not ready is probed. A kubelet does so at each change of the pod besides
	// the probe's period.
	unreadyProbe = 250 * time.Millisecond
	// retry is when to try again what failed.
	retry = 100 * time.Millisecond
)

// live runs the pod until it is gone.
func (p *playedPod) live(ctx context.Context) error {
	defer p.cleanUp()
	probes, starts := time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	defer probes.Stop()
	defer starts.Stop()
	for {
		var ended chan struct{}
		if p.run != nil {
			ended = p.run.ended
		}
		select {
		case <-ctx.Done():
			return nil
		case pod := <-p.news:
			if pod == nil {
				return p.terminate(ctx, p.pod) // removed by force
			}
			p.mu.Lock()
			first := p.pod == nil
			p.pod = pod
			p.mu.Unlock()
			switch {
			case pod.DeletionTimestamp != nil:
				return p.terminate(ctx, pod)
			case pod.Spec.NodeName == "":
				if err := p.bind(ctx, pod); err != nil {
					return err
				}
				continue
			case first || p.ip == "":
				p.ip = newAddress()
				starts.Reset(0)
			default:
				if err := p.refreshAnnotations(ctx, pod); err != nil {
					return err
				}
			}
			if !p.ready {
				probes.Reset(0)
			}
		case <-starts.C:
			run, err := p.start(ctx, p.pod)
			if apierrors.IsNotFound(err) {
				starts.Reset(retry) // a ConfigMap or Secret that is not there yet
				continue
			}
			if err != nil {
				return err
			}
			p.mu.Lock()
			p.run = run
			p.mu.Unlock()
			probes.Reset(20 * time.Millisecond)
		case <-ended:
			p.mu.Lock()
			p.last, p.run = &p.run.how, nil
			p.mu.Unlock()
			p.ready, p.failed = false, 0
			if err := p.report(ctx); err != nil {
				return err
			}
			p.restarts++
			starts.Reset(restartAfter)
			continue
		case <-probes.C:
			probes.Reset(p.look())
		}
		if err := p.report(ctx); err != nil {
			return err
		}
	}
}

func (p *playedPod) cleanUp() {
	if p.run != nil {
		p.run.signal(syscall.SIGKILL)
		<-p.run.ended
	}
}

func (p *playedPod) bind(ctx context.Context, pod *corev1.Pod) error {
	err := p.kubelet.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: machines[int(bound.Add(1))%len(machines)]},
	}, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// refreshAnnotations writes the files that come from the pod's annotations, as a kubelet does some 150 ms after they changed.
func (p *playedPod) refreshAnnotations(ctx context.Context, pod *corev1.Pod) error {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Projected == nil {
			continue
		}
		for j := range volume.Projected.Sources {
			source := &volume.Projected.Sources[j]
			if source.DownwardAPI == nil {
				continue
			}
			files, err := p.project(ctx, pod, source)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Join(p.dir, volume.Name), 0o755); err != nil {
				return err
			}
			if err := writeFiles(filepath.Join(p.dir, volume.Name), files); err != nil {
				return err
			}
		}
	}
	return nil
}

// look probes the container, and tells when to do so again.
func (p *playedPod) look() time.Duration {
	if p.run == nil {
		return time.Hour
	}
	probing := p.pod.Spec.Containers[0].ReadinessProbe
	if probe(p.ip, p.pod) {
		p.ready, p.failed = true, 0
	} else if p.failed++; probing != nil && p.failed >= probing.FailureThreshold {
		p.ready = false
	}
	if !p.ready || probing == nil {
		return unreadyProbe
	}
	return time.Duration(probing.PeriodSeconds) * time.Second
}

// report tells the API server how the pod is, if that differs from what it knows.
func (p *playedPod) report(ctx context.Context) error {
	if p.ip == "" || p.pod == nil {
		return nil
	}
	wanted := p.status()
	now := &p.pod.Status
	same := now.Phase == wanted.Phase && now.PodIP == wanted.PodIP &&
		equality.Semantic.DeepEqual(settled(now.ContainerStatuses), settled(wanted.ContainerStatuses))
	for _, condition := range wanted.Conditions {
		same = same && conditionOf(now, condition.Type) == condition.Status
	}
	if same {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.pod.UID}, "status": wanted})
	if err != nil {
		return err
	}
	pod, err := p.kubelet.client.CoreV1().Pods(p.pod.Namespace).
		Patch(ctx, p.pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "kubelet"}, "status")
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // gone, or another of that name; the watch will tell
	case err != nil:
		return err
	}
	p.mu.Lock()
	if p.pod.DeletionTimestamp == nil {
		p.pod = pod
	}
	p.mu.Unlock()
	return nil
}

// settled are statuses with times of whole seconds, as they come back from the API server.
func settled(statuses []corev1.ContainerStatus) string {
	text, _ := json.Marshal(statuses)
	return string(text)
}

func conditionOf(status *corev1.PodStatus, kind corev1.PodConditionType) corev1.ConditionStatus {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return status.Conditions[i].Status
		}
	}
	return ""
}

func (p *playedPod) status() *corev1.PodStatus {
	container := corev1.ContainerStatus{
		Name: p.pod.Spec.Containers[0].Name, Image: p.pod.Spec.Containers[0].Image, ImageID: "played",
		RestartCount: p.restarts, Ready: p.ready, Started: new(p.run != nil),
	}
	switch {
	case p.run != nil:
		container.ContainerID = p.run.id
		container.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(p.run.started)}
		if p.last != nil {
			container.LastTerminationState.Terminated = p.last
		}
	case p.last != nil:
		container.ContainerID = p.last.ContainerID
		container.State.Terminated = p.last
	default:
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	}
	status := &corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "10.77.0.1", PodIP: p.ip, PodIPs: []corev1.PodIP{{IP: p.ip}},
		ContainerStatuses: []corev1.ContainerStatus{container},
	}
	switch {
	case p.run == nil && p.last == nil:
		status.Phase = corev1.PodPending
	case p.run == nil && p.pod.DeletionTimestamp != nil:
		status.Phase = corev1.PodSucceeded // for good
	}
	ready := p.ready
	for _, gate := range p.pod.Spec.ReadinessGates {
		ready = ready && conditionOf(&p.pod.Status, gate.ConditionType) == corev1.ConditionTrue
	}
	for kind, holds := range map[corev1.PodConditionType]bool{
		corev1.PodInitialized: true, corev1.PodReadyToStartContainers: true, corev1.ContainersReady: p.ready, corev1.PodReady: ready,
	} {
		condition := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
		if holds {
			condition.Status = corev1.ConditionTrue
		}
		status.Conditions = append(status.Conditions, condition)
	}
	return status
}

// terminate ends the process as a kubelet does, then removes the pod from the API server.
func (p *playedPod) terminate(ctx context.Context, pod *corev1.Pod) error {
	if pod == nil {
		return nil
	}
	grace := 30 * time.Second
	if pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	if p.run != nil {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		stopping := p.preStop(ctx, pod)
	waiting:
		for {
			select {
			case <-p.run.ended:
				break waiting
			case <-stopping:
				stopping = nil
				p.run.signal(syscall.SIGTERM)
			case <-timer.C:
				p.run.signal(syscall.SIGKILL)
			case <-ctx.Done():
				return nil
			case newer := <-p.news:
				if newer == nil { // removed meanwhile, by force
					timer.Reset(0)
				} else if newer.DeletionGracePeriodSeconds != nil {
					p.pod = newer
				}
			}
		}
		p.mu.Lock()
		p.last, p.run = &p.run.how, nil
		p.mu.Unlock()
		p.ready = false
		if err := p.report(ctx); err != nil {
			return err
		}
	}
	err := p.kubelet.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
