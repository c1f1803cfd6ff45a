package sim

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	cachev1 "example.com/redis-operator/api/v1"
)

// person does, once all is calm, what the conditions ask for, and tells the truth: confirms the death of what is dead, and
// deletes the pods that have fewer writes where the operator asks to choose.
func (w *world) person() {
	w.later(5*time.Second, w.person)
	degraded := meta.FindStatusCondition(w.store.resource().Status.Conditions, cachev1.ConditionDegraded)
	if degraded == nil {
		return
	}
	switch degraded.Reason {
	case cachev1.ReasonPrimaryUnreachable:
		if c := w.claim(); c != nil && strings.Contains(degraded.Message, "confirm-dead="+c.Primary.Name) && !w.runs(string(c.Primary.UID)) {
			w.confirmDead(c.Primary.Name)
		}
	case cachev1.ReasonReplicasUnaccounted:
		for _, p := range w.pods {
			if p.gone && p.process == nil && strings.Contains(degraded.Message, p.name) {
				w.confirmDead(p.name)
				return
			}
		}
	case cachev1.ReasonAmbiguousPrimary, cachev1.ReasonAmbiguousHistory:
		w.choose()
	}
}

func (w *world) confirmDead(name string) {
	w.change(func(r *cachev1.RedisCluster) {
		if r.Annotations[cachev1.AnnotationConfirmDead] != name {
			w.tell("person: %s is dead", name)
		}
		r.Annotations = map[string]string{cachev1.AnnotationConfirmDead: name}
	})
}

// choose keeps the pod with the most writes.
func (w *world) choose() {
	var keep *pod
	for _, p := range w.pods {
		if p.process != nil && (keep == nil || len(p.process.data) > len(keep.process.data)) {
			keep = p
		}
	}
	for _, p := range w.pods {
		if p.process != nil && p != keep {
			w.tell("person: deletes %s", p.short)
			w.deletePod(p)
		}
	}
}

// runs tells whether a process of that pod still runs.
func (w *world) runs(uid string) bool {
	for _, p := range w.processes() {
		if p.pod.uid == uid {
			return true
		}
	}
	return false
}
