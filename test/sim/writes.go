package sim

import (
	"slices"
	"time"

	cachev1 "example.com/redis-operator/api/v1"
)

// acceptedWrite is one that a client was told is done, without more.
type acceptedWrite struct {
	id int
	at time.Time
	by *process
}

// confirmedWrite is one for which WAIT answered with at least the quorum on record, and at least one.
type confirmedWrite struct {
	id    int
	at    time.Time
	count int
	// needed is what its primary needed just then; holders are the primary and the replicas that had acknowledged.
	needed  int
	holders []*process
}

// accepted is a write that a process took. Whether its client hears of it is another matter; it might.
func (w *world) accepted(p *process, r request) {
	w.acknowledged = append(w.acknowledged, acceptedWrite{r.id, time.Now(), p})
	r.guest.client.served = time.Now()
	if claim := w.claim(); protocol && claim != nil && claim.RunID == p.runID && p.certain() < int(claim.Quorum) {
		w.violated("%s accepts a write while it needs %d replicas, and quorum %d is on record", p.runID, p.certain(), claim.Quorum)
	}
}

// certain is how many replicas a primary needs before it accepts a write.
func (p *process) certain() int {
	if p.maxLag == 0 {
		return 0
	}
	return p.minReplicas
}

// confirmed is a write for which WAIT was told that so many replicas have it.
func (w *world) confirmed(p *process, r request, count int) {
	need := r.need
	claim := w.claim()
	if claim != nil {
		need = max(need, int(claim.Quorum))
	}
	if need < 1 || count < need {
		return
	}
	write := confirmedWrite{id: r.id, at: time.Now(), count: count, needed: p.certain(), holders: []*process{p}}
	for _, s := range p.fed { // also one that has ended since it said so
		if s.online && s.to.has(r.id) {
			write.holders = append(write.holders, s.to)
		}
	}
	w.confirms = append(w.confirms, write)
	w.confirmedWrites++
	if claim == nil || claim.RunID == p.runID {
		return
	}
	for _, other := range w.processes() {
		if other.primary && other.runID == claim.RunID && !other.has(r.id) && w.safe {
			w.violated("I1: %s confirms write %d while %s is the primary of epoch %d", p.runID, r.id, other.runID, claim.Epoch)
		}
	}
}

// has tells whether a process has a write, a late one mostly.
func (p *process) has(id int) bool {
	for _, v := range slices.Backward(p.data) {
		if v.id == id {
			return true
		}
	}
	return false
}

func (p *process) ids() map[int]bool { return idsOf(p.data) }

func idsOf(data []entry) map[int]bool {
	has := make(map[int]bool, len(data))
	for _, e := range data {
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

// checkConfirmed is the invariant I2: a write confirmed by WAIT m is not lost by one fault, where m was the quorum on record.
//
// It is asked when a process is promoted that lacks such a write. That is a violation
//
//   - if a process that has the write could have been asked: the operator that promotes has reached it for the last three
//     seconds without a break, and it runs;
//   - if no replica that had confirmed it has ended: one that merely cannot be asked still has it, so the operator must wait for it
//     (R + W > N), also where the primary is dead (R8);
//   - if fewer than two faults explain it. A fault is the end of a process that had the write when it was confirmed, or of its
//     pod's object by force (each counts, also of those on one machine), all cuts and standstills that keep those that still have
//     it from being asked (together they count as one, since one cut may do all of it), and the loss of the record.
//
// The second rule does not hold where the record was lost since, nor for a write that was confirmed while the quorum was being
// raised: its primary needed more replicas already than were on record, and it promises less than the quorum that followed.
//
// A write that is lost by two faults is written off: from then on nobody need have it.
func (w *world) checkConfirmed(p *process, op *operator) {
	has, lost, fewest := p.ids(), 0, 0
	kept := w.confirms[:0]
	for _, write := range w.confirms {
		if has[write.id] {
			kept = append(kept, write)
			continue
		}
		asked, faults := w.explain(p, op, write)
		switch {
		case asked != nil:
			w.violated("I2: %s is promoted without write %d, which %s has and %s could ask", p.runID, write.id, asked.runID, op.name)
		case faults < 2:
			w.violated("I2: %s is promoted without write %d, which %d replicas had confirmed, and %d faults explain it", p.runID, write.id, write.count, faults)
		}
		if len(w.violations) > 0 {
			return
		}
		lost++
		if lost == 1 || faults < fewest {
			fewest = faults
		}
	}
	w.confirms = kept
	if lost > 0 {
		w.tell("%d confirmed writes are lost, by %d faults", lost, fewest)
	}
}

// explain finds who could have been asked for a write, and else how many faults keep everyone from being asked.
func (w *world) explain(p *process, op *operator, write confirmedWrite) (asked *process, faults int) {
	for _, other := range w.processes() {
		if other != p && other.has(write.id) && w.couldAsk(op, other) {
			return other, 0
		}
	}
	away, replicaEnded := 0, false
	for i, holder := range write.holders {
		switch {
		case holder.dead, w.object(holder.pod) == nil:
			faults++
			replicaEnded = replicaEnded || i > 0
		case holder.has(write.id):
			away = 1
		}
	}
	wiped := w.wipedAt.After(write.at)
	if !replicaEnded && !wiped && write.needed <= write.count {
		return nil, 0
	}
	return nil, faults + away + number(wiped)
}

// couldAsk tells whether an operator has been able to ask a process for some time, whatever it did. A process whose pod was
// deleted by force is not there any more for anyone.
func (w *world) couldAsk(op *operator, p *process) bool {
	return w.object(p.pod) != nil && !p.stopped && !p.loading && p.listens && w.network.steady(op.name, p.pod.ip, 3*time.Second) && time.Since(op.started) > 3*time.Second &&
		!op.redisTrouble[p.pod.ip]
}

// checkPlain counts the acknowledged writes that a promotion loses, whether anyone waited for replicas or not. A planned move
// loses none, where nothing else goes wrong: the old primary runs, and there was no fault for a while.
func (w *world) checkPlain(p *process) {
	has, lost := p.ids(), 0
	kept := w.acknowledged[:0]
	for _, write := range w.acknowledged {
		if has[write.id] {
			kept = append(kept, write)
		} else {
			lost++
		}
	}
	w.acknowledged = kept
	w.lostWrites += lost
	if lost == 0 {
		return
	}
	w.tell("%d acknowledged writes are lost", lost)
	if old := w.formerPrimary(p); old != nil && w.safe && w.quiet() {
		w.violated("a planned move from %s to %s loses %d acknowledged writes", old.runID, p.runID, lost)
	}
}

// formerPrimary is the process that was the primary of the claim before, if it still runs.
func (w *world) formerPrimary(next *process) *process {
	for _, p := range w.processes() {
		if p != next && p.runID == w.served {
			return p
		}
	}
	return nil
}

// quiet tells whether no fault but a planned one has been at work for a while.
func (w *world) quiet() bool { return time.Now().After(w.troubledUntil) }

// checkLeave: when some leave the record, as many of those that stay as the new quorum have every write that was confirmed: fewer
// than the quorum may be missing at a failover, so one of them will be asked.
func (w *world) checkLeave(old, now *cachev1.Claim) {
	if old == nil || old.RunID != now.RunID || len(now.Attached) >= len(old.Attached) {
		return
	}
	for _, write := range w.confirms {
		having := 0
		for _, a := range now.Attached {
			r := w.processOf(string(a.UID))
			having += number(r == nil || r.started.After(write.at) || r.has(write.id))
		}
		if having < int(now.Quorum) {
			w.violated("quorum %d is recorded, and of those that stay %d have the confirmed write %d", now.Quorum, having, write.id)
			return
		}
	}
}

// processOf is the process of a pod; nil where none runs.
func (w *world) processOf(uid string) *process {
	for _, p := range w.processes() {
		if p.pod.uid == uid {
			return p
		}
	}
	return nil
}

// checkRaise: a higher quorum is recorded once as many of the attached have all that the primary had acknowledged before it
// needed as many.
func (w *world) checkRaise(old, now *cachev1.Claim) {
	if old == nil || old.RunID != now.RunID || now.Quorum <= old.Quorum {
		return
	}
	for _, p := range w.processes() {
		if p.runID != now.RunID || !p.primary {
			continue
		}
		last := 0
		for i := len(w.acknowledged) - 1; i >= 0 && last == 0; i-- {
			if write := w.acknowledged[i]; write.by == p && write.at.Before(p.needsSince) {
				last = write.id
			}
		}
		having := 0
		for _, a := range now.Attached {
			r := w.processOf(string(a.UID))
			having += number(r == nil || r.started.After(p.needsSince) || last == 0 || r.has(last)) // one that has ended since may have had it
		}
		if having < int(now.Quorum) {
			w.violated("quorum %d is recorded, and %d of the attached have what %s acknowledged without them", now.Quorum, having, p.runID)
		}
	}
}
