package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/resources"
)

const (
	port = 6379
	// addressRests is how long the address of a pod that is gone is not given to another. Networks differ; what happens where an
	// address is given away before an operator's cache knows that its pod is gone is not handled yet (seed 2103 without this).
	addressRests = 10 * time.Second
)

// pod is what the kubelet knows of a pod.
type pod struct {
	in          *world
	name, short string
	uid         string
	ip          string
	machine     string
	process     *process
	restarts    int32
	lastEnd     *corev1.ContainerState
	// terminating is true once it was told to end; gone once nothing of it is left on its machine.
	terminating, gone bool
}

// object is the pod in the API server; nil where it is not there any more.
func (w *world) object(p *pod) *corev1.Pod {
	found, _ := w.store.get(objectKey{"Pod", p.name}).(*corev1.Pod)
	if found == nil || string(found.UID) != p.uid {
		return nil
	}
	return found
}

func (p *pod) bootsAsPrimary() bool {
	// The downward API's file follows the annotation by a moment, which is left out here.
	object := p.in.object(p)
	return object != nil && object.Annotations[cachev1.AnnotationBootRole] != ""
}

// started is a pod that got a machine: the kubelet gives it an address and starts its container.
func (w *world) startPod(p *pod) {
	if w.object(p) == nil || p.terminating {
		return
	}
	p.ip = w.newIP()
	w.startContainer(p)
}

func (w *world) newIP() string {
	if len(w.freeIPs) > 0 && w.rand.IntN(3) == 0 {
		ip := w.freeIPs[0]
		w.freeIPs = w.freeIPs[1:]
		return ip
	}
	return fmt.Sprintf("10.0.%d.%d", len(w.pods)/200, w.number()%200+1)
}

func (w *world) startContainer(p *pod) {
	if p.terminating || p.gone || p.process != nil {
		return
	}
	p.process = w.boot(p)
	w.tell("kubelet: %s runs in %s", p.process.runID, p.short)
	w.later(w.between(5*time.Millisecond, 150*time.Millisecond), func() { w.podStatus(p) })
}

// containerEnded is what the kubelet does when a container ended: it tells, and starts it again.
func (w *world) containerEnded(p *pod, code int32) {
	p.lastEnd = &corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: code}}
	p.restarts++
	w.later(w.between(5*time.Millisecond, 200*time.Millisecond), func() { w.podStatus(p) })
	if !p.terminating {
		w.later(w.between(20*time.Millisecond, 3*time.Second), func() { w.startContainer(p) })
	}
}

// podStatus writes what the kubelet knows into the pod's status.
func (w *world) podStatus(p *pod) {
	object := w.object(p)
	if object == nil {
		return
	}
	next := object.DeepCopy()
	next.Status.PodIP = p.ip
	status := corev1.ContainerStatus{Name: resources.ContainerName, RestartCount: p.restarts}
	switch {
	case p.process != nil:
		status.State.Running = &corev1.ContainerStateRunning{}
		if p.lastEnd != nil {
			status.LastTerminationState = *p.lastEnd
		}
	case p.lastEnd != nil:
		status.State = *p.lastEnd
	default:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	}
	next.Status.Phase = corev1.PodRunning
	next.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	setCondition(next, corev1.ContainersReady, p.probe())
	setCondition(next, corev1.PodReady, p.probe() && condition(next, cachev1.GateInSync))
	w.store.put(next)
}

// probe is the readiness probe: the server answers PING, which a node without data does not (MASTERDOWN).
func (p *pod) probe() bool {
	r := p.process
	return r != nil && r.listens && !r.stopped && !r.loading && (r.primary || r.state == linkUp)
}

func condition(p *corev1.Pod, name corev1.PodConditionType) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == name {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func setCondition(p *corev1.Pod, name corev1.PodConditionType, holds bool) {
	status := corev1.ConditionFalse
	if holds {
		status = corev1.ConditionTrue
	}
	p.Status.Conditions = slices.Clone(p.Status.Conditions)
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == name {
			p.Status.Conditions[i].Status = status
			return
		}
	}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: name, Status: status})
}

// deletePod is kubectl delete pod, or what a controller does: the process is told to end and the object goes when it has.
func (w *world) deletePod(p *pod) {
	object := w.object(p)
	if object == nil || p.terminating {
		return
	}
	p.terminating = true
	next := object.DeepCopy()
	now := metav1.NewTime(time.Now())
	next.DeletionTimestamp = &now
	w.store.put(next)
	w.later(w.between(5*time.Millisecond, 100*time.Millisecond), func() {
		if p.process == nil {
			w.removePod(p)
			return
		}
		// A server that is told to end waits until its replicas have everything (shutdown-timeout).
		for _, r := range p.process.fed {
			r.receive()
		}
		w.later(w.between(3*time.Millisecond, 100*time.Millisecond), func() {
			if p.process != nil {
				w.tell("kubelet: %s ends", p.process.runID)
				p.process.die()
				w.containerEnded(p, 0)
			}
			w.later(w.between(10*time.Millisecond, 600*time.Millisecond), func() { w.removePod(p) })
		})
	})
}

func (w *world) removePod(p *pod) {
	if p.process != nil {
		p.process.die()
	}
	p.gone = true
	if p.ip != "" {
		w.later(addressRests, func() { w.freeIPs = append(w.freeIPs, p.ip) })
	}
	w.tell("kubelet: nothing is left of %s", p.short)
	if object := w.object(p); object != nil {
		w.store.remove(object)
	}
}

// crash ends a pod's process without warning.
func (w *world) crash(p *pod) {
	if p.process != nil {
		p.process.die()
		w.containerEnded(p, 137)
	}
}
