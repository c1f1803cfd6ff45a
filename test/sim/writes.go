package sim

import (
	"time"
)

// acceptedWrite is one that a client was told is done, without more.
type acceptedWrite struct {
	id int
	at time.Time
}

// confirmedWrite is one for which WAIT answered with at least the quorum on record, and at least one.
type confirmedWrite struct {
	id      int
	at      time.Time
	count   int
	holders []*process
}

// accepted is a write that a process took. Whether its client hears of it is another matter; it might.
func (w *world) accepted(p *process, r request) {
	w.acknowledged = append(w.acknowledged, acceptedWrite{r.id, time.Now()})
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
	write := confirmedWrite{id: r.id, at: time.Now(), count: count, holders: []*process{p}}
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
	for i := len(p.data) - 1; i >= 0; i-- {
		if p.data[i].id == id {
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
//   - else if fewer than two faults explain it. A fault is the end of a process that had the write when it was confirmed, or of its
//     pod's object by force (each counts, also of those on one machine), all cuts and standstills that keep those that still have it from being asked
//     (together they count as one, since one cut may do all of it), and the loss of the record.
//
// Where a higher quorum than the write's own was recorded since, it promises less than that quorum allows to be missing, so there
// each holder that cannot be asked counts.
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
	away := 0
	for _, holder := range write.holders {
		if holder.dead || w.object(holder.pod) == nil {
			faults++
		} else if holder.has(write.id) {
			away++
		}
	}
	if w.highestQuorum(write.at) <= int32(write.count) {
		away = min(away, 1)
	}
	return nil, faults + away + number(w.wipedAt.After(write.at))
}

// couldAsk tells whether an operator has been able to ask a process for some time, whatever it did. A process whose pod was
// deleted by force is not there any more for anyone.
func (w *world) couldAsk(op *operator, p *process) bool {
	return w.object(p.pod) != nil && !p.stopped && !p.loading && p.listens && w.network.steady(op.name, p.pod.ip, 3*time.Second) && time.Since(op.started) > 3*time.Second &&
		!op.redisTrouble[p.pod.ip]
}

// highestQuorum is the highest on record since then.
func (w *world) highestQuorum(since time.Time) int32 {
	highest := int32(0)
	for i := len(w.quorums) - 1; i >= 0; i-- {
		highest = max(highest, w.quorums[i].quorum)
		if w.quorums[i].at.Before(since) {
			break
		}
	}
	return highest
}

type quorumAt struct {
	at     time.Time
	quorum int32
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
