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
	// preStop is true if the container has such a hook, which waits until its Redis is no primary.
	preStop bool
	// wasPrimary is true if a process of it is a primary, or was.
	wasPrimary bool
	// served is when its process last ceased to be a primary or to have a link to one.
	served time.Time
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
	switch {
	case w.object(p) == nil || p.terminating:
		return
	case !w.reports(p.machine):
		w.later(w.between(200*time.Millisecond, time.Second), func() { w.startPod(p) })
		return
	}
	p.ip = w.newIP(p)
	w.startContainer(p)
}

func (w *world) newIP(p *pod) string {
	ip := fmt.Sprintf("10.0.%d.%d", w.serial/200, w.number()%200+1)
	if len(w.freeIPs) > 0 && w.rand.IntN(3) == 0 {
		ip = w.freeIPs[0]
		w.freeIPs = w.freeIPs[1:]
	}
	w.network.machines[ip] = p.machine
	return ip
}

func (w *world) freeIP(ip string) {
	w.later(addressRests, func() { w.freeIPs = append(w.freeIPs, ip) })
}

func (w *world) startContainer(p *pod) {
	if p.terminating || p.gone || p.process != nil || p.ip == "" || w.machineDead(p.machine) {
		return
	}
	p.process = w.boot(p)
	w.tell("kubelet: %s runs in %s", p.process.runID, p.short)
	w.later(w.between(5*time.Millisecond, 150*time.Millisecond), func() { w.podStatus(p) })
}

// containerEnded is what the kubelet does when a container ended: it tells, and starts it again.
func (w *world) containerEnded(p *pod, code int32) {
	p.lastEnd = ended(code)
	p.restarts++
	w.later(w.between(5*time.Millisecond, 200*time.Millisecond), func() { w.podStatus(p) })
	if !p.terminating {
		w.later(w.between(20*time.Millisecond, 3*time.Second), func() { w.startContainer(p) })
	}
}

func ended(code int32) *corev1.ContainerState {
	return &corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: code}}
}

func (w *world) machineDead(name string) bool {
	return slices.ContainsFunc(w.machines, func(m *machine) bool { return m.name == name && (m.dead || m.gone) })
}

// podStatus writes what the kubelet knows into the pod's status.
func (w *world) podStatus(p *pod) {
	object := w.object(p)
	if object == nil || !w.reports(p.machine) {
		return // it tells once it can
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
	if p.terminating && p.process == nil {
		next.Status.Phase = corev1.PodSucceeded
	}
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
	w.later(w.between(5*time.Millisecond, 100*time.Millisecond), func() { w.endPod(p, time.Now().Add(preStopLimit)) })
}

// preStopLimit is how long the preStop hook waits until its Redis is no primary.
const preStopLimit = 10 * time.Second

// endPod is what the kubelet does about a pod that is deleted, as soon as it knows: the hook, SIGTERM, the end.
func (w *world) endPod(p *pod, hookEnds time.Time) {
	switch r := p.process; {
	case p.gone:
	case !w.reports(p.machine):
		w.later(w.between(100*time.Millisecond, 500*time.Millisecond), func() { w.endPod(p, time.Now().Add(preStopLimit)) })
	case r == nil:
		w.removePod(p)
	case p.preStop && r.primary && time.Now().Before(hookEnds), r.stopped:
		w.later(w.between(100*time.Millisecond, 300*time.Millisecond), func() { w.endPod(p, hookEnds) })
	default:
		w.terminate(p)
	}
}

// terminate is SIGTERM: a server waits until its replicas have everything (shutdown-timeout), and refuses writes meanwhile.
func (w *world) terminate(p *pod) {
	r := p.process
	if r.primary {
		r.pauseWrites(time.Second)
	}
	w.later(w.between(3*time.Millisecond, 100*time.Millisecond), func() {
		if p.process == r {
			w.tell("kubelet: %s ends", r.runID)
			r.die(false)
			w.containerEnded(p, 0)
		}
		w.later(w.between(10*time.Millisecond, 600*time.Millisecond), func() { w.removePod(p) })
	})
}

// removePod is the end of a pod: nothing is left of it on its machine, and then its object goes.
func (w *world) removePod(p *pod) {
	if p.gone {
		return
	}
	if p.process != nil {
		p.process.die(true)
	}
	p.gone = true
	if p.ip != "" {
		w.freeIP(p.ip)
	}
	w.tell("kubelet: nothing is left of %s", p.short)
	gone := func() bool { return w.object(p) == nil }
	from := p.machine
	if w.machineDead(p.machine) {
		from = api // the garbage collector does it
	}
	w.network.carry(from, api, 0, gone, func() { w.store.remove(w.object(p)) })
}

// crash ends a pod's process without warning.
func (w *world) crash(p *pod) {
	if p.process != nil {
		p.process.die(w.rand.IntN(2) == 0)
		w.containerEnded(p, 137)
	}
}
