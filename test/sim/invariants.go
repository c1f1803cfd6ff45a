package sim

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
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
	if known, seen := w.claims[c.Epoch]; seen && (known.RunID != c.RunID || known.Primary.UID != c.Primary.UID) && w.wipedAt.IsZero() {
		w.violated("epoch %d belongs to %s and to %s", c.Epoch, known.RunID, c.RunID)
	}
	w.claims[c.Epoch] = *c
	if protocol {
		w.checkRecord(c)
		if old, is := before.(*cachev1.RedisCluster); is {
			w.checkRaise(old.Status.Claim, c)
			w.checkLeave(old.Status.Claim, c)
		}
	}
	w.checkOnePrimary()
}

// checkPromotion: only a process that a claim named is promoted (perhaps late, by an operator that was overtaken), and under Safe
// it has every write that it must have.
func (w *world) checkPromotion(p *process, op *operator) {
	if p.primary {
		return
	}
	if !w.named(p) {
		w.violated("%s is promoted, and no claim ever named it", p.runID)
	}
	w.tell("redis: %s becomes primary with %d writes", p.runID, len(p.data))
	w.checkPlain(p)
	w.served = p.runID
	if claim := w.claim(); protocol && claim != nil && claim.RunID == p.runID && p.certain() < int(claim.Quorum) {
		w.violated("%s is promoted needing %d replicas, and quorum %d is on record", p.runID, p.certain(), claim.Quorum)
	}
	if w.safe {
		w.checkNewest(p, op)
		w.checkConfirmed(p, op)
		return
	}
	has := p.ids() // BestEffort may lose what was confirmed
	w.confirms = slices.DeleteFunc(w.confirms, func(write confirmedWrite) bool { return !has[write.id] })
}

// checkNewest: nobody is promoted without a write that another node has, plain or not, if that one could be asked. What one has that
// could not be asked is given up: it may be on another branch of the history by the time that one is back.
func (w *world) checkNewest(p *process, op *operator) {
	has := p.ids()
	defer w.giveUp(has)
	maps.Copy(has, w.givenUp)
	for _, other := range w.processes() {
		if other == p || w.object(other.pod) == nil || protocol && !w.couldAsk(op, other) {
			continue // what Kubernetes does not know any more, nobody can ask
		}
		if missing := missing(other.data, has); missing > 0 {
			w.violated("%s is promoted without %d writes that %s has", p.runID, missing, other.runID)
		}
	}
}

// giveUp notes the writes that processes have and the one that is promoted does not.
func (w *world) giveUp(has map[int]bool) {
	for _, other := range w.processes() {
		for _, e := range other.data {
			if !has[e.id] {
				w.givenUp[e.id] = true
			}
		}
	}
}

// checkOnePrimary is the invariant I1: under Safe, there are never two processes that could confirm a write.
//
// A primary could if so many replicas as it needs can acknowledge to it: those with an open link, and those that are told to
// copy from it and know the password that is in force there. Whether the network is cut just now does not matter, since it may be
// healed before anyone acts. It needs the quorum that was last on record for it, and what it is set to by min-replicas. One that
// holds its clients' writes confirms none; it is looked at again when it ceases to.
func (w *world) checkOnePrimary() {
	if !w.safe {
		return
	}
	var found *process
	for _, p := range w.processes() {
		if !p.primary || p.paused() || !w.known(p) || w.couldAcknowledge(p) < max(w.quorumOf(p), p.certain()) {
			continue
		}
		if found != nil {
			w.violated("I1: %s and %s could both confirm writes", found.runID, p.runID)
			return
		}
		found = p
	}
}

// known tells whether anybody can know of a primary: a claim named it that was not wiped since, or its pod still exists and a
// claim named it before. One that none ever named is a primary by its boot role: the only node of a resource restarts by itself,
// and nobody was promised anything by it yet (its pod may then be deleted by force).
func (w *world) known(p *process) bool {
	return w.named(p) && (w.wipedAt.IsZero() || w.object(p.pod) != nil)
}

// named tells whether a claim ever named a process.
func (w *world) named(p *process) bool {
	for _, c := range w.claims {
		if string(c.Primary.UID) == p.pod.uid && c.RunID == p.runID {
			return true
		}
	}
	return false
}

func (w *world) couldAcknowledge(p *process) int {
	count := 0
	for _, r := range w.processes() {
		linked := r.upstream != nil && r.upstream.from == p && r.upstream.open
		count += number(linked || r != p && !r.primary && r.host == p.pod.ip && p.admits(r.masterauth))
	}
	return count
}

// quorumOf is the quorum of the last claim that named a process.
func (w *world) quorumOf(p *process) int {
	epoch, quorum := int64(-1), 0
	for _, c := range w.claims {
		if c.RunID == p.runID && c.Epoch > epoch {
			epoch, quorum = c.Epoch, int(c.Quorum)
		}
	}
	return quorum
}

// checkAttached: whoever has a link to the claimed primary is on record as attached.
func (w *world) checkAttached(p, to *process) {
	if c := w.claim(); protocol && c != nil && c.RunID == to.runID && !attached(c, p) {
		w.violated("%s copies from %s and is not on record as attached", p.runID, to.runID)
	}
}

// checkSlice: the Service is led only to a pod that is, or was, the primary. (A write to the API server may come late.)
func (w *world) checkSlice(o client.Object) {
	if slice, is := o.(*discoveryv1.EndpointSlice); is && len(slice.Endpoints) > 0 {
		if p := w.podAt(slice.Endpoints[0].Addresses[0]); p != nil && !p.wasPrimary {
			w.violated("the Service is led to %s, which is no primary", p.short)
		}
	}
}

// checkGate: a gate is opened only for a pod that serves its role with its data, or did a moment ago.
func (w *world) checkGate(old client.Object, o client.Object) {
	now, is := o.(*corev1.Pod)
	before, _ := old.(*corev1.Pod)
	if !is || before == nil || !condition(now, inSync) || condition(before, inSync) {
		return
	}
	for _, p := range w.pods {
		r := p.process
		if p.uid == string(now.UID) && (r == nil || !r.primary && r.state != linkUp) && time.Since(p.served) > 3*time.Second {
			w.violated("the gate of %s is opened, and it does not serve", p.short)
		}
	}
}

func attached(c *cachev1.Claim, p *process) bool {
	return slices.ContainsFunc(c.Attached, func(a cachev1.ClaimedPod) bool { return string(a.UID) == p.pod.uid })
}

// checkRecord: what the record says of a primary that serves holds already: it needs at least the quorum, and who is not attached
// has no link to it and does not know the password in force there.
func (w *world) checkRecord(c *cachev1.Claim) {
	for _, p := range w.processes() {
		if !p.primary || p.runID != c.RunID {
			continue
		}
		if p.certain() < int(c.Quorum) && !p.paused() {
			w.violated("quorum %d is recorded, and %s needs %d", c.Quorum, p.runID, p.certain())
		}
		if c.Quorum == 0 && !w.wipedAt.IsZero() {
			continue // an adopted primary promises nothing yet
		}
		for _, r := range w.processes() {
			linked := r.upstream != nil && r.upstream.from == p && r.upstream.open
			if r != p && !attached(c, r) && (linked || p.admits(r.masterauth)) {
				w.violated("%s is recorded as not attached, and can still copy from %s: its link is open %t, its password in force %t", r.runID, p.runID, linked, p.admits(r.masterauth))
			}
		}
	}
}

// checkToldToCopy: no node with data is told to copy from one without, by an operator that could know it. (One that does not
// reach the primary may send its replicas back to an address where another process is by now; that one is fenced.)
func (w *world) checkToldToCopy(p *process, host string, op *operator) {
	if from := w.processAt(host); from != nil && len(p.data) > 0 && len(from.data) == 0 && (!protocol || w.couldAsk(op, from)) {
		w.violated("%s with %d writes is told to copy from %s, which has none", p.runID, len(p.data), from.runID)
	}
}

// checkCopy: nor does it begin to, whatever it was told when.
func (w *world) checkCopy(p, from *process) {
	if len(p.data) > 0 && len(from.data) == 0 {
		w.violated("%s with %d writes copies all from %s, which has none", p.runID, len(p.data), from.runID)
	}
}

// checkReplaced: under Safe, no full copy replaces data that hold more than the copy: nothing at all while no primary is
// replaced that may still run, else nothing that was confirmed.
func (w *world) checkReplaced(p *process, by []entry) {
	if !w.safe {
		return
	}
	has := idsOf(by)
	if missing := missing(p.data, has); missing > 0 && !protocol {
		w.violated("%s loses %d writes to a full copy", p.runID, missing)
	}
	own := p.ids()
	for _, write := range w.confirms {
		if own[write.id] && !has[write.id] {
			w.violated("I2: %s loses the confirmed write %d to a full copy", p.runID, write.id)
			return
		}
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
