package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

// create makes the resource and the machines.
func (w *world) create(size int32, policy cachev1.FailoverPolicy) {
	w.safe = policy == cachev1.FailoverSafe
	for range machines {
		w.newMachine()
	}
	r := &cachev1.RedisCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: cachev1.GroupVersion.String(), Kind: "RedisCluster"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
	}
	r.Spec.Size, r.Spec.Image, r.Spec.Port, r.Spec.Service.Type = size, "redis:7.0", port, corev1.ServiceTypeClusterIP
	r.Spec.Failover = cachev1.FailoverSpec{TimeoutSeconds: int32(failoverTimeout / time.Second), Policy: policy}
	w.store.put(r)
	w.tell("size %d, policy %s", size, policy)
}

// fault is one kind of misfortune, as often as its weight says. Each ends by itself. A planned one is what a person or
// Kubernetes may do at any time without asking for trouble.
type fault struct {
	weight  int
	strike  func(w *world)
	planned bool
}

var faults = []fault{
	{weight: 6, strike: (*world).crashSomeone},
	{weight: 3, strike: (*world).crashPrimary},
	{weight: 3, strike: (*world).crashAll},
	{weight: 3, strike: (*world).deleteSomeone, planned: true},
	{weight: 1, strike: (*world).forceDeleteSomeone},
	{weight: 2, strike: (*world).stopSomeone},
	{weight: 4, strike: (*world).cutOperatorOff},
	{weight: 3, strike: (*world).cutReplicaOff},
	{weight: 4, strike: (*world).endOperator},
	{weight: 4, strike: (*world).endOperatorAfterStep},
	{weight: 2, strike: (*world).secondOperator},
	{weight: 3, strike: (*world).stallInformers},
	{weight: 3, strike: (*world).troubleAPI},
	{weight: 3, strike: (*world).scale, planned: true},
	{weight: 1, strike: (*world).changeImage, planned: true},
	{weight: 2, strike: (*world).cutClientOff},
	{weight: 2, strike: (*world).cutAPIOff},
}

// faultsOfTheProtocol are those that only a product with the protocol can bear.
var faultsOfTheProtocol = []fault{
	// What a process refused a moment ago is taken for certain today (seed 325: a primary that is alone restarts by its boot role,
	// takes writes, and is told to copy from an empty one).
	{weight: 2, strike: (*world).troubleRedis},
	{weight: 3, strike: (*world).isolateMachine},
	{weight: 2, strike: (*world).loseMachine},
	{weight: 2, strike: (*world).cutOneWay},
	{weight: 2, strike: (*world).wipeStatus},
	{weight: 3, strike: (*world).askForSwitchover, planned: true},
	{weight: 2, strike: (*world).drain, planned: true},
	{weight: 1, strike: (*world).switchoverAndUnpause},
	{weight: 2, strike: (*world).crashPrimaryAndCutReplica},
	{weight: 3, strike: (*world).slowReplica},
	{weight: 3, strike: (*world).loneHolder},
	{weight: 3, strike: (*world).crashPrimaryWhileBehind},
}

// troubleLasts is for how long a fault may be at work at most, its consequences included.
const troubleLasts = 40 * time.Second

// everything that may happen in this schedule. Every sixth schedule has planned faults alone: those must lose nothing.
func (w *world) everything() []fault {
	all := faults
	if protocol {
		all = slices.Concat(faults, faultsOfTheProtocol)
	}
	if protocol && w.seed%6 == 1 {
		all = slices.DeleteFunc(slices.Clone(all), func(f fault) bool { return !f.planned })
	}
	return all
}

// misfortune strikes again and again.
func (w *world) misfortune() {
	all, total := w.everything(), 0
	for _, f := range all {
		total += f.weight
	}
	pick := w.rand.IntN(total)
	for _, f := range all {
		if pick -= f.weight; pick < 0 {
			if !f.planned {
				w.troubledUntil = time.Now().Add(troubleLasts)
			}
			f.strike(w)
			return
		}
	}
}

// strike lets a fault come later, if faults have not ended by then.
func (w *world) strike(after time.Duration, fault func()) {
	w.later(after, func() {
		if !w.calmed {
			fault()
		}
	})
}

// running is a random pod that runs; nil if none does.
func (w *world) running(primary bool) *pod {
	var all []*pod
	for _, p := range w.pods {
		if p.process != nil && !p.terminating && (!primary || p.process.primary) {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.rand.IntN(len(all))]
}

func (w *world) someOperator() *operator {
	if len(w.operators) == 0 {
		return nil
	}
	return w.operators[w.rand.IntN(len(w.operators))]
}

func (w *world) crashSomeone() {
	if p := w.running(false); p != nil {
		w.tell("FAULT: %s crashes", p.process.runID)
		w.crash(p)
	}
}

func (w *world) crashPrimary() {
	if p := w.running(true); p != nil {
		w.tell("FAULT: primary %s crashes", p.process.runID)
		w.crash(p)
	}
}

// crashAll crashes several at about the same time.
func (w *world) crashAll() {
	for range 1 + w.rand.IntN(3) {
		w.strike(w.between(0, 300*time.Millisecond), w.crashSomeone)
	}
}

func (w *world) deleteSomeone() {
	if p := w.running(w.rand.IntN(2) == 0); p != nil {
		w.tell("FAULT: pod %s is deleted", p.short)
		w.deletePod(p)
	}
}

// forceDeleteSomeone removes a pod's object at once; its process runs on for a while.
func (w *world) forceDeleteSomeone() {
	p := w.running(false)
	if w.rand.IntN(3) == 0 {
		p = w.ending() // perhaps its kubelet does not answer, so a person loses patience
	}
	if p != nil && w.object(p) != nil {
		w.tell("FAULT: pod %s is deleted by force", p.short)
		p.terminating = true
		w.store.remove(w.object(p))
		w.later(w.between(10*time.Millisecond, 8*time.Second), func() { w.removeForced(p) })
	}
}

// ending is a pod that is being deleted and still runs; nil if none is.
func (w *world) ending() *pod {
	for _, p := range w.pods {
		if p.terminating && p.process != nil {
			return p
		}
	}
	return nil
}

// removeForced is a kubelet that learns that a pod's object is gone, as soon as it can.
func (w *world) removeForced(p *pod) {
	if !w.reports(p.machine) && !w.machineDead(p.machine) {
		w.later(w.between(time.Second, 2*time.Second), func() { w.removeForced(p) })
		return
	}
	w.removePod(p)
}

func (w *world) stopSomeone() {
	if p := w.running(w.rand.IntN(2) == 0); p != nil {
		w.standStill(p.process, w.between(100*time.Millisecond, 12*time.Second))
	}
}

// standStill is SIGSTOP, and SIGCONT a while later.
func (w *world) standStill(r *process, d time.Duration) {
	w.tell("FAULT: %s stands still", r.runID)
	r.stop()
	w.later(d, func() {
		if r.stopped {
			w.tell("%s goes on", r.runID)
			r.goOn()
		}
	})
}

func (w *world) cutOperatorOff() {
	op, p := w.someOperator(), w.running(w.rand.IntN(2) == 0)
	if op == nil || p == nil {
		return
	}
	ip := p.ip
	w.tell("FAULT: %s and %s cannot reach each other", op.name, p.short)
	w.network.cutBoth(op.name, ip)
	w.later(w.between(100*time.Millisecond, 12*time.Second), func() { w.network.healBoth(op.name, ip) })
}

func (w *world) cutReplicaOff() {
	a, b := w.running(false), w.running(false)
	if a == nil || a == b {
		return
	}
	from, to := a.ip, b.ip
	w.tell("FAULT: %s and %s cannot reach each other", a.short, b.short)
	w.network.cutBoth(from, to)
	w.later(w.between(100*time.Millisecond, 15*time.Second), func() { w.network.healBoth(from, to) })
}

// replaceOperator starts another one a moment later, if none is left.
func (w *world) replaceOperator() {
	w.later(w.between(50*time.Millisecond, 4*time.Second), func() {
		if len(w.operators) == 0 {
			w.startOperator()
		}
	})
}

func (w *world) endOperator() {
	if op := w.someOperator(); op != nil {
		op.kill()
		w.replaceOperator()
	}
}

// endOperatorAfterStep lets an operator end between two steps, mostly during what comes next: so something is made to come.
func (w *world) endOperatorAfterStep() {
	op := w.someOperator()
	if op == nil {
		return
	}
	op.stepsLeft = w.rand.IntN(8)
	w.tell("FAULT: %s will end after %d steps", op.name, op.stepsLeft+1)
	w.strike(w.between(time.Millisecond, 300*time.Millisecond), w.crashPrimary)
	w.later(w.between(time.Second, 5*time.Second), func() {
		op.stepsLeft = -1
		w.replaceOperator()
	})
}

// secondOperator lets two act at once, as after a lost lease.
func (w *world) secondOperator() {
	if len(w.operators) != 1 {
		return
	}
	op := w.startOperator()
	w.later(w.between(time.Second, 10*time.Second), func() {
		if len(w.operators) > 1 {
			op.kill()
		}
	})
}

func (w *world) stallInformers() {
	if op := w.someOperator(); op != nil {
		op.informers.stalled = time.Now().Add(w.between(50*time.Millisecond, 4*time.Second))
		w.tell("FAULT: the informers of %s stall for %s", op.name, time.Until(op.informers.stalled))
		w.later(time.Until(op.informers.stalled)+time.Millisecond, op.wake)
	}
}

func (w *world) troubleAPI() {
	if op := w.someOperator(); op != nil {
		w.tell("FAULT: calls of %s to the API server are lost", op.name)
		op.apiTrouble = true
		w.later(w.between(100*time.Millisecond, 3*time.Second), func() { op.apiTrouble = false })
	}
}

func (w *world) change(how func(r *cachev1.RedisCluster)) {
	next := w.store.resource().DeepCopy()
	how(next)
	w.store.put(next)
}

func (w *world) scale() {
	w.change(func(r *cachev1.RedisCluster) {
		r.Spec.Size = int32(1 + w.rand.IntN(4))
		w.tell("FAULT: size %d is wanted", r.Spec.Size)
	})
}

func (w *world) changeImage() {
	w.change(func(r *cachev1.RedisCluster) {
		r.Spec.Image += "x"
		w.tell("FAULT: image %s is wanted", r.Spec.Image)
	})
}
