package sim

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

const (
	machines = 3
	inSync   = corev1.PodConditionType(cachev1.GateInSync)
	// leasePeriod is how often a kubelet renews its lease; leaseRuns is for how long a machine without is still held Ready
	// (node-monitor-grace-period, 40 s before Kubernetes 1.32).
	leasePeriod = 10 * time.Second
	leaseRuns   = 40 * time.Second
)

// machine is a Kubernetes node.
type machine struct {
	name string
	dead bool
	// renewed is when its kubelet last renewed its lease.
	renewed time.Time
	gone    bool
}

func (w *world) newMachine() *machine {
	m := &machine{name: "m" + strconv.Itoa(len(w.machines)+1), renewed: time.Now()}
	w.machines = append(w.machines, m)
	w.store.put(&corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: m.name},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	})
	w.startProxy(m.name)
	w.lease(m)
	return m
}

// reports tells whether a machine's kubelet reaches the API server.
func (w *world) reports(name string) bool {
	for _, m := range w.machines {
		if m.name == name {
			return !m.dead && !m.gone && w.network.connected(name, api)
		}
	}
	return false
}

// lease is the kubelet's heartbeat, and what the node controller makes of it.
func (w *world) lease(m *machine) {
	if m.gone {
		return
	}
	if w.reports(m.name) {
		m.renewed = time.Now()
	}
	w.nodeReady(m, time.Since(m.renewed) <= leaseRuns)
	w.later(w.between(leasePeriod-time.Second, leasePeriod), func() { w.lease(m) })
}

// nodeReady is what Kubernetes says of a machine; the pods of one that is not ready are not ready either.
func (w *world) nodeReady(m *machine, ready bool) {
	node, _ := w.store.get(objectKey{"Node", m.name}).(*corev1.Node)
	if node == nil || (node.Status.Conditions[0].Status == corev1.ConditionTrue) == ready {
		return
	}
	next := node.DeepCopy()
	next.Status.Conditions[0].Status = corev1.ConditionUnknown
	if ready {
		next.Status.Conditions[0].Status = corev1.ConditionTrue
	}
	w.store.put(next)
	w.tell("node controller: %s ready: %t", m.name, ready)
	for _, p := range w.pods {
		if object := w.object(p); object != nil && p.machine == m.name && !ready && condition(object, corev1.PodReady) {
			marked := object.DeepCopy()
			setCondition(marked, corev1.PodReady, false)
			w.store.put(marked)
		}
	}
}

// leaseOf is the Lease that a machine's kubelet renews.
func (w *world) leaseOf(name string) *coordinationv1.Lease {
	for _, m := range w.machines {
		if m.name == name && !m.gone {
			return &coordinationv1.Lease{
				TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
				ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: name},
				Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: m.renewed}, LeaseDurationSeconds: new(int32(leaseRuns / time.Second))},
			}
		}
	}
	return nil
}

// cordon makes a machine unschedulable, or ends that.
func (w *world) cordon(m *machine, cordoned bool) {
	if node, _ := w.store.get(objectKey{"Node", m.name}).(*corev1.Node); node != nil && node.Spec.Unschedulable != cordoned {
		next := node.DeepCopy()
		next.Spec.Unschedulable = cordoned
		w.store.put(next)
		w.tell("%s is cordoned: %t", m.name, cordoned)
	}
}

// schedule chooses a machine for a pod: one that takes pods, mostly the one with the fewest (the operator asks for that).
func (w *world) schedule() string {
	fit := w.usable()
	if len(fit) == 0 {
		fit = w.machines[len(w.machines)-1:]
	}
	if w.rand.IntN(4) == 0 && !w.story {
		return fit[w.rand.IntN(len(fit))].name
	}
	count := map[string]int{}
	for _, p := range w.pods {
		count[p.machine] += number(!p.gone && !p.terminating)
	}
	first := w.rand.IntN(len(fit))
	fit = slices.Concat(fit[first:], fit[:first])
	return slices.MinFunc(fit, func(a, b *machine) int { return cmp.Compare(count[a.name], count[b.name]) }).name
}

// usable are the machines that take pods.
func (w *world) usable() []*machine {
	var fit []*machine
	for _, m := range w.machines {
		node, _ := w.store.get(objectKey{"Node", m.name}).(*corev1.Node)
		if node != nil && !node.Spec.Unschedulable && w.reports(m.name) {
			fit = append(fit, m)
		}
	}
	return fit
}

// isolate cuts a machine from everything, with all that is on it, or ends that; then its kubelet tells what has happened.
func (w *world) isolate(m *machine, island bool) {
	w.network.isolate(m.name, island)
	if island || m.dead || m.gone {
		return
	}
	m.renewed = time.Now()
	w.nodeReady(m, true)
	for _, p := range w.pods {
		if p.machine == m.name && !p.gone {
			w.podStatus(p)
		}
	}
	for _, op := range w.operators {
		op.wake()
	}
}

// kill ends a machine and all that is on it, and nobody reports.
func (w *world) killMachine(m *machine) {
	m.dead = true
	w.network.isolate(m.name, true)
	for _, p := range w.pods {
		if p.machine == m.name && p.process != nil {
			p.process.die(true)
			p.lastEnd = ended(255)
		}
	}
	for _, op := range slices.Clone(w.operators) {
		if w.network.machines[op.name] == m.name {
			op.kill()
			w.replaceOperator()
		}
	}
	for _, c := range w.clients {
		if c.machine == m.name {
			c.machine = w.anotherMachine(m)
			w.network.machines[c.name] = c.machine
			c.disconnect()
		}
	}
}

func (w *world) anotherMachine(than *machine) string {
	for _, m := range w.machines {
		if m != than && !m.dead && !m.gone {
			return m.name
		}
	}
	return than.name
}

// machineBack starts a machine that died: its pods start anew, with new addresses.
func (w *world) machineBack(m *machine) {
	if !m.dead || m.gone {
		return
	}
	w.tell("%s is back", m.name)
	m.dead = false
	for _, p := range w.pods {
		if p.machine == m.name && !p.gone && p.ip != "" {
			w.freeIP(p.ip)
			p.ip = w.newIP(p)
			p.restarts++
		}
	}
	w.isolate(m, false)
	for _, p := range w.pods {
		if p.machine == m.name && !p.gone {
			w.startContainer(p)
		}
	}
}

// machineGone is a machine that is taken out of the cluster; another one takes its place. Its pods go by garbage collection.
func (w *world) machineGone(m *machine) {
	if !m.dead || m.gone {
		return
	}
	w.tell("%s is removed", m.name)
	m.gone = true
	if node := w.store.get(objectKey{"Node", m.name}); node != nil {
		w.store.remove(node)
	}
	w.newMachine()
	for _, p := range w.pods {
		if p.machine == m.name && !p.gone {
			w.later(w.between(time.Second, 10*time.Second), func() { w.removePod(p) })
		}
	}
}
