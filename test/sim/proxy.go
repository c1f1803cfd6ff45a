package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// proxy is the kube-proxy of a machine: where new connections to the Service go from there. Connections that are open stay.
type proxy struct {
	machine string
	address string
	// synced is when it last wrote its rules; pending is true while a sync is due.
	synced  time.Time
	pending bool
}

// minSyncPeriod is kube-proxy's: it waits so long between two syncs, so a change that comes right behind another one waits
// (measured: a switchover behind a change of labels took 1,083 ms).
const minSyncPeriod = time.Second

// serviceChanged is told of every change that any Service's endpoints come from.
func (w *world) serviceChanged() {
	for _, p := range w.proxies {
		if p.pending || !w.network.connected(p.machine, api) {
			continue
		}
		p.pending = true
		wait := max(w.between(20*time.Millisecond, 150*time.Millisecond), time.Until(p.synced.Add(minSyncPeriod)))
		w.later(wait, func() {
			p.pending = false
			w.sync(p)
		})
	}
}

func (w *world) sync(p *proxy) {
	if !w.network.connected(p.machine, api) {
		return
	}
	p.synced = time.Now()
	p.address = w.store.primaryAddress()
}

// proxy is a machine's.
func (w *world) proxy(machine string) *proxy {
	for _, p := range w.proxies {
		if p.machine == machine {
			return p
		}
	}
	return nil
}

// startProxy gives a machine its own.
func (w *world) startProxy(machine string) {
	w.network.machines[machine] = machine
	p := &proxy{machine: machine}
	w.proxies = append(w.proxies, p)
	w.proxyLooks(p)
}

// proxyLooks lets a proxy that was cut off catch up.
func (w *world) proxyLooks(p *proxy) {
	w.later(w.between(900*time.Millisecond, 1100*time.Millisecond), func() {
		if p.address != w.store.primaryAddress() && !p.pending {
			w.sync(p)
		}
		w.proxyLooks(p)
	})
}

// endpointsChanged tells whether a write changes where any Service leads: the primary's slice, or whether and as what a pod serves.
func endpointsChanged(old, now client.Object) bool {
	switch now := now.(type) {
	case *discoveryv1.EndpointSlice:
		return true
	case *corev1.Pod:
		before, _ := old.(*corev1.Pod)
		return before == nil || condition(before, corev1.PodReady) != condition(now, corev1.PodReady) ||
			before.Labels[cachev1.LabelRole] != now.Labels[cachev1.LabelRole]
	}
	return false
}
