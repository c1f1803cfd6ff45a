package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

// askForSwitchover is a person who wants another primary.
func (w *world) askForSwitchover() {
	p := w.running(false)
	if p == nil {
		return
	}
	w.tell("person: wants %s for the primary", p.short)
	w.change(func(r *cachev1.RedisCluster) { r.Annotations = map[string]string{cachev1.AnnotationSwitchover: p.name} })
}

// switchoverAndUnpause is one where somebody ends the pause of the old primary by hand: plain writes there are lost then, and nothing
// may be confirmed.
func (w *world) switchoverAndUnpause() {
	w.askForSwitchover()
	w.strike(w.between(10*time.Millisecond, 1400*time.Millisecond), func() {
		claim := w.claim()
		for _, p := range w.processes() {
			if p.primary && p.paused() && claim != nil && claim.RunID != p.runID && w.quorumOf(p) > 0 {
				w.tell("person: ends the pause of %s", p.runID)
				p.take(p.unpause)
			}
		}
	})
}

// drain cordons a machine and evicts what is on it, one pod at a time as the disruption budget allows.
func (w *world) drain() {
	m := w.someMachine()
	if m == nil {
		return
	}
	w.tell("person: drains %s", m.name)
	w.cordon(m, true)
	w.evict(m, time.Now().Add(20*time.Second))
	w.later(w.between(2*time.Second, 25*time.Second), func() { w.cordon(m, false) })
}

func (w *world) evict(m *machine, until time.Time) {
	if node, _ := w.store.get(objectKey{"Node", m.name}).(*corev1.Node); node == nil || !node.Spec.Unschedulable || time.Now().After(until) {
		return
	}
	healthy, disrupted := 0, 0
	var victim *pod
	for _, p := range w.pods {
		object := w.object(p)
		if object == nil {
			continue
		}
		if condition(object, corev1.PodReady) && !p.terminating {
			healthy++
		} else {
			disrupted++
		}
		if p.machine == m.name && !p.terminating && !p.gone {
			victim = p
		}
	}
	if victim == nil {
		return
	}
	if disrupted == 0 && healthy >= int(w.store.resource().Spec.Size) {
		w.tell("%s is evicted", victim.short)
		w.deletePod(victim)
	}
	w.later(w.between(900*time.Millisecond, 2*time.Second), func() { w.evict(m, until) })
}
