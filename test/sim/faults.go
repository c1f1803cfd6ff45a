package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

const (
	machines = 3
	inSync   = corev1.PodConditionType(cachev1.GateInSync)
)

// create makes the resource and the machines.
func (w *world) create(size int32, policy cachev1.FailoverPolicy) {
	w.safe = policy == cachev1.FailoverSafe
	for _, name := range []string{"m1", "m2", "m3"} {
		w.store.put(&corev1.Node{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		})
	}
	r := &cachev1.RedisCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: cachev1.GroupVersion.String(), Kind: "RedisCluster"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
	}
	r.Spec.Size, r.Spec.Image, r.Spec.Port, r.Spec.Service.Type = size, "redis:7.0", port, corev1.ServiceTypeClusterIP
	r.Spec.Failover = cachev1.FailoverSpec{TimeoutSeconds: 5, Policy: policy}
	w.store.put(r)
	w.tell("size %d, policy %s", size, policy)
}

// fault is one kind of misfortune, as often as its weight says. Each ends by itself.
type fault struct {
	weight int
	strike func(w *world)
}

var faults = []fault{
	{6, (*world).crashSomeone},
	{3, (*world).crashPrimary},
	{3, (*world).crashAll},
	{3, (*world).deleteSomeone},
	{1, (*world).forceDeleteSomeone},
	{2, (*world).stopSomeone},
	{4, (*world).cutOperatorOff},
	{3, (*world).cutReplicaOff},
	{4, (*world).endOperator},
	{4, (*world).endOperatorAfterStep},
	{2, (*world).secondOperator},
	{3, (*world).stallInformers},
	{3, (*world).troubleAPI},
	{3, (*world).scale},
	{1, (*world).changeImage},
}

// misfortune strikes again and again.
func (w *world) misfortune() {
	total := 0
	for _, f := range faults {
		total += f.weight
	}
	pick := w.rand.IntN(total)
	for _, f := range faults {
		if pick -= f.weight; pick < 0 {
			f.strike(w)
			return
		}
	}
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
		w.later(w.between(0, 300*time.Millisecond), w.crashSomeone)
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
	if p := w.running(false); p != nil {
		w.tell("FAULT: pod %s is deleted by force", p.short)
		p.terminating = true
		w.store.remove(w.object(p))
		w.later(w.between(10*time.Millisecond, 8*time.Second), func() { w.removePod(p) })
	}
}

func (w *world) stopSomeone() {
	if p := w.running(w.rand.IntN(2) == 0); p != nil {
		r := p.process
		w.tell("FAULT: %s stands still", r.runID)
		r.stopped = true
		w.later(w.between(100*time.Millisecond, 12*time.Second), func() { r.stopped = false; w.tell("%s goes on", r.runID) })
	}
}

func (w *world) cutOperatorOff() {
	op, p := w.someOperator(), w.running(w.rand.IntN(2) == 0)
	if op == nil || p == nil {
		return
	}
	ip := p.ip
	w.tell("FAULT: %s and %s cannot reach each other", op.name, p.short)
	w.cut(op.name, ip)
	w.later(w.between(100*time.Millisecond, 12*time.Second), func() { w.heal(op.name, ip) })
}

func (w *world) cutReplicaOff() {
	a, b := w.running(false), w.running(false)
	if a == nil || a == b {
		return
	}
	from, to := a.ip, b.ip
	w.tell("FAULT: %s and %s cannot reach each other", a.short, b.short)
	w.cut(from, to)
	w.later(w.between(100*time.Millisecond, 15*time.Second), func() { w.heal(from, to) })
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
	w.later(w.between(time.Millisecond, 300*time.Millisecond), w.crashPrimary)
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
