package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	cachev1 "example.com/redis-operator/api/v1"
)

// patience is how long a world may take to settle once faults have ended.
const patience = 150 * time.Second

// lengths are for how long faults strike, and for how long the settled operator must then be silent. Most schedules are short, so that
// many pass; one in sixteen goes on until what is left of earlier faults meets later ones.
func (w *world) lengths() (faults, silence time.Duration) {
	if w.seed/7%16 == 0 {
		return 25 * time.Second, 15 * time.Second
	}
	return 6 * time.Second, 4 * time.Second
}

// run lets one schedule pass, from nothing through misfortune to silence.
func (w *world) run(size int32, policy cachev1.FailoverPolicy) {
	w.Lock()
	w.create(size, policy)
	w.startOperator()
	w.controllers()
	w.startClients()
	w.Unlock()

	w.until(20*time.Second, func() bool { return w.settled() == "" })
	faults, silence := w.lengths()
	for end := time.Now().Add(faults); time.Now().Before(end) && !w.failed(); {
		w.pass(w.randomPause())
		w.do(w.misfortune)
	}
	w.do(w.calm)
	w.until(patience, func() bool { return w.settled() == "" })
	w.do(func() {
		if why := w.settled(); why != "" {
			w.violated("it does not settle: %s; status: %s", why, w.conditions())
		}
	})
	w.beSilent(silence)
	w.end()
}

// randomPause is mostly short, so that faults meet each other's consequences.
func (w *world) randomPause() time.Duration {
	w.Lock()
	defer w.Unlock()
	if w.rand.IntN(3) == 0 {
		return w.between(2*time.Second, 6*time.Second)
	}
	return w.between(20*time.Millisecond, time.Second)
}

func (w *world) pass(d time.Duration) { time.Sleep(d) }

func (w *world) do(what func()) {
	w.Lock()
	defer w.Unlock()
	what()
}

func (w *world) failed() bool {
	w.Lock()
	defer w.Unlock()
	return len(w.violations) > 0
}

// until waits until something holds, a violation, or the end of patience.
func (w *world) until(most time.Duration, holds func() bool) {
	for end := time.Now().Add(most); time.Now().Before(end) && !w.failed(); {
		w.pass(499 * time.Millisecond)
		w.Lock()
		done := holds()
		w.Unlock()
		if done {
			return
		}
	}
}

// calm ends all faults; from now on a truthful person does what the conditions ask for.
func (w *world) calm() {
	w.tell("CALM")
	w.calmed = true
	w.network.healAll()
	for _, m := range slices.Clone(w.machines) {
		if m.dead {
			w.machineBack(m)
		}
		if !m.gone {
			w.isolate(m, false)
			w.cordon(m, false)
		}
	}
	for _, p := range w.processes() {
		p.goOn()
	}
	for len(w.operators) > 1 {
		w.operators[0].kill()
	}
	if len(w.operators) == 0 {
		w.startOperator()
	}
	op := w.operators[0]
	op.apiTrouble, op.stepsLeft, op.informers.stalled = false, -1, time.Time{}
	clear(op.redisTrouble)
	op.wake()
	w.person()
}

func (w *world) conditions() string {
	var parts []string
	for _, c := range w.store.resource().Status.Conditions {
		parts = append(parts, c.Type+"="+string(c.Status)+" "+c.Reason+" ("+c.Message+")")
	}
	return strings.Join(parts, ", ")
}

// beSilent checks that a settled operator writes nothing and plans nothing.
func (w *world) beSilent(silence time.Duration) {
	if w.failed() {
		return
	}
	w.pass(2 * time.Second) // the last gates and the status
	w.Lock()
	before, op := w.store.writes, w.operators[0]
	w.Unlock()
	w.pass(silence)
	w.do(func() {
		if now := w.store.writes; now != before {
			w.violated("%d API writes in a settled world, the last %s; status: %s", now-before, w.store.lastWrite, w.conditions())
		}
	})
	p, err := op.plan(context.Background())
	w.do(func() {
		if err != nil || !p.Empty() || len(p.Blocked) > 0 {
			w.violated("a plan in a settled world: %s %v", p.String(), err)
		}
	})
}

// end stops everything and waits until it has.
func (w *world) end() {
	w.Lock()
	w.over = true
	operators := w.operators
	for _, op := range operators {
		op.kill()
	}
	for _, p := range w.processes() {
		for _, s := range p.sessions {
			_ = s.conn.Close()
		}
	}
	w.Unlock()
	w.pass(5 * time.Second) // longer than anything waits
}
