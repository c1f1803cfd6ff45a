package sim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// checkClaim: epochs only grow, and each belongs to one process. (Unless the record was wiped by the fault of that name.)
func (w *world) checkClaim(before client.Object, now *cachev1.RedisCluster) {
	c := now.Status.Claim
	if c == nil {
		return
	}
	if old, is := before.(*cachev1.RedisCluster); is && old.Status.Claim != nil && old.Status.Claim.Epoch > c.Epoch {
		w.violated("epoch %d follows on %d", c.Epoch, old.Status.Claim.Epoch)
	}
	if known, seen := w.claims[c.Epoch]; seen && (known.RunID != c.RunID || known.Primary.UID != c.Primary.UID) && !w.wiped {
		w.violated("epoch %d belongs to %s and to %s", c.Epoch, known.RunID, c.RunID)
	}
	w.claims[c.Epoch] = *c
}

// checkPromotion: only a process that a claim named is promoted (perhaps late, by an operator that was overtaken), and under Safe
// it has every write that any other reachable node has.
func (w *world) checkPromotion(p *process) {
	if p.primary {
		return
	}
	named := false
	for _, c := range w.claims {
		named = named || (string(c.Primary.UID) == p.pod.uid && c.RunID == p.runID)
	}
	if !named {
		w.violated("%s is promoted, and no claim ever named it", p.runID)
	}
	w.tell("redis: %s becomes primary with %d writes", p.runID, len(p.data))
	if !w.safe {
		return
	}
	has := p.ids()
	for _, other := range w.processes() {
		if other == p || w.object(other.pod) == nil {
			continue // what Kubernetes does not know any more, nobody can ask
		}
		if missing := missing(other.data, has); missing > 0 {
			w.violated("%s is promoted without %d writes that %s has", p.runID, missing, other.runID)
		}
	}
}

// checkToldToCopy: no node with data is told to copy from one without.
func (w *world) checkToldToCopy(p *process, host string) {
	if from := w.processAt(host); from != nil && len(p.data) > 0 && len(from.data) == 0 {
		w.violated("%s with %d writes is told to copy from %s, which has none", p.runID, len(p.data), from.runID)
	}
}

// checkCopy: nor does it begin to, whatever it was told when.
func (w *world) checkCopy(p, from *process) {
	if len(p.data) > 0 && len(from.data) == 0 {
		w.violated("%s with %d writes copies all from %s, which has none", p.runID, len(p.data), from.runID)
	}
}

// checkReplaced: under Safe, no full copy replaces data that hold more than the copy.
func (w *world) checkReplaced(p *process, by []entry) {
	has := map[int]bool{}
	for _, e := range by {
		has[e.id] = true
	}
	if missing := missing(p.data, has); missing > 0 && w.safe {
		w.violated("%s loses %d writes to a full copy", p.runID, missing)
	}
}

// checkPrefix: a replica that goes on where it was has what the primary had up to there, and nothing else.
func (w *world) checkPrefix(p, from *process) {
	if len(p.data) > len(from.data) {
		w.violated("%s goes on from %s with %d writes, which has %d", p.runID, from.runID, len(p.data), len(from.data))
		return
	}
	for i, e := range p.data {
		if from.data[i].id != e.id {
			w.violated("%s goes on from %s, and their data differ at write %d", p.runID, from.runID, i)
			return
		}
	}
}

// checkScaleDown: what a ReplicaSet removes, because fewer are wanted, is not the primary; unless that ceased to be ready after
// fewer were asked for, which nobody can exclude.
func (w *world) checkScaleDown(p *corev1.Pod) {
	if c := w.claim(); c != nil && condition(p, corev1.PodReady) && c.Primary.UID == p.UID && w.store.primaryAddress() == p.Status.PodIP && p.Status.PodIP != "" {
		w.violated("a replica set removes the primary %s", p.Name)
	}
}

func (p *process) ids() map[int]bool {
	has := make(map[int]bool, len(p.data))
	for _, e := range p.data {
		has[e.id] = true
	}
	return has
}

func missing(data []entry, has map[int]bool) int {
	count := 0
	for _, e := range data {
		count += number(!has[e.id])
	}
	return count
}

// settled tells what is still missing to a world as it should be; empty for nothing.
func (w *world) settled() string {
	r := w.store.resource()
	c := r.Status.Claim
	if c == nil {
		return "there is no claim"
	}
	primary := w.processAt(w.store.primaryAddress())
	if primary == nil || !primary.primary || primary.runID != c.RunID {
		return "the Service does not lead to the claimed primary"
	}
	running := 0
	for _, p := range w.pods {
		object := w.object(p)
		if object == nil {
			continue
		}
		if p.terminating || p.process == nil || !condition(object, "Ready") {
			return p.short + " is not ready"
		}
		running++
		if p.process != primary && (p.process.state != linkUp || p.process.upstream != primary) {
			return p.short + " does not follow the primary"
		}
	}
	if running != int(r.Spec.Size) {
		return fmt.Sprintf("%d pods run, and %d are wanted", running, r.Spec.Size)
	}
	return ""
}
