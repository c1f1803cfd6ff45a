package sim

import (
	"slices"
	"time"

	cachev1 "example.com/redis-operator/api/v1"
)

func (w *world) someMachine() *machine {
	fit := slices.DeleteFunc(slices.Clone(w.machines), func(m *machine) bool { return m.dead || m.gone || w.network.islands[m.name] })
	if len(fit) < 2 {
		return nil // one is left alone
	}
	return fit[w.rand.IntN(len(fit))]
}

// isolateMachine cuts a machine off with all that is on it: pods, clients, perhaps the operator.
func (w *world) isolateMachine() {
	m := w.someMachine()
	if m == nil || len(w.network.islandsNow()) > 0 {
		return
	}
	w.tell("FAULT: %s is cut off from everything", m.name)
	w.isolate(m, true)
	w.operatorsLoseLease()
	most := 15 * time.Second
	if w.rand.IntN(4) == 0 {
		most = 60 * time.Second
	}
	w.later(w.between(100*time.Millisecond, most), func() {
		if !m.dead && !m.gone && w.network.islands[m.name] {
			w.tell("%s is reached again", m.name)
			w.isolate(m, false)
		}
	})
}

// loseMachine ends a machine without a word. It comes back, or is taken out of the cluster.
func (w *world) loseMachine() {
	m := w.someMachine()
	if m == nil || len(w.network.islandsNow()) > 0 {
		return
	}
	w.tell("FAULT: %s dies", m.name)
	w.killMachine(m)
	back := w.rand.IntN(2) == 0
	w.later(w.between(2*time.Second, 50*time.Second), func() {
		if back {
			w.machineBack(m)
		} else {
			w.machineGone(m)
		}
	})
}

// islandsNow are the machines that are cut off, those that are gone for good left out.
func (n *network) islandsNow() []string {
	var now []string
	for _, m := range n.world.machines {
		if n.islands[m.name] && !m.gone {
			now = append(now, m.name)
		}
	}
	return now
}

// operatorsLoseLease ends operators that do not reach the API server for longer than the renew deadline of their lease.
func (w *world) operatorsLoseLease() {
	for _, op := range slices.Clone(w.operators) {
		if w.network.connected(op.name, api) {
			continue
		}
		w.later(w.between(4*time.Second, 5*time.Second), func() {
			if !op.isDead && !w.network.connected(op.name, api) {
				op.kill()
				w.replaceOperator()
			}
		})
	}
}

// cutOneWay lets nothing through from one place to another, while the way back is open: pods, operators.
func (w *world) cutOneWay() {
	a, b := w.running(false), w.running(w.rand.IntN(2) == 0)
	if a == nil || b == nil {
		return
	}
	from, to := a.ip, b.ip
	if op := w.someOperator(); op != nil && (a == b || w.rand.IntN(2) == 0) {
		from = op.name
		if w.rand.IntN(2) == 0 {
			from, to = to, from
		}
	}
	if from == to {
		return
	}
	w.tell("FAULT: nothing gets from %s to %s", from, to)
	w.network.cut(from, to)
	w.later(w.between(100*time.Millisecond, 15*time.Second), func() { w.network.heal(from, to) })
}

func (w *world) cutClientOff() {
	c, p := w.clients[w.rand.IntN(len(w.clients))], w.running(w.rand.IntN(2) == 0)
	if p == nil {
		return
	}
	ip := p.ip
	w.tell("FAULT: %s and %s cannot reach each other", c.name, p.short)
	w.network.cutBoth(c.name, ip)
	w.later(w.between(100*time.Millisecond, 8*time.Second), func() { w.network.healBoth(c.name, ip) })
}

// troubleRedis lets commands come late, and answers late or too late.
func (w *world) troubleRedis() {
	op, p := w.someOperator(), w.running(w.rand.IntN(2) == 0)
	if op == nil || p == nil {
		return
	}
	ip := p.ip
	w.tell("FAULT: messages between %s and %s are lost on the way", op.name, p.short)
	op.redisTrouble[ip] = true
	w.later(w.between(100*time.Millisecond, 6*time.Second), func() { delete(op.redisTrouble, ip) })
}

// cutAPIOff keeps an operator from the API server, one way or both.
func (w *world) cutAPIOff() {
	op := w.someOperator()
	if op == nil {
		return
	}
	there, back := true, true
	switch w.rand.IntN(4) {
	case 0:
		there = false
	case 1:
		back = false
	}
	w.tell("FAULT: %s is cut off from the API server (there %t, back %t)", op.name, there, back)
	if there {
		w.network.cut(op.name, api)
	}
	if back {
		w.network.cut(api, op.name)
	}
	w.operatorsLoseLease()
	w.later(w.between(100*time.Millisecond, 8*time.Second), func() {
		if there {
			w.network.heal(op.name, api)
		}
		if back {
			w.network.heal(api, op.name)
		}
		op.wake()
	})
}

// crashPrimaryAndCutReplica is the case that one replica alone has what was confirmed, and cannot be asked (R8).
func (w *world) crashPrimaryAndCutReplica() {
	w.cutOperatorOff()
	w.strike(w.between(0, 3*time.Second), w.crashPrimary)
}

// slowReplica lets a replica fall behind: what is sent to it takes up to half a second.
func (w *world) slowReplica() {
	primary, p := w.running(true), w.running(false)
	if primary == nil || p == primary {
		return
	}
	at := way{primary.ip, p.ip}
	w.network.slow[at] = w.between(20*time.Millisecond, 500*time.Millisecond)
	w.tell("FAULT: %s gets what %s writes %s late", p.short, primary.short, w.network.slow[at])
	w.later(w.between(time.Second, 10*time.Second), func() { delete(w.network.slow, at) })
}

// crashPrimaryWhileBehind ends a primary while what it wrote is still on its way, longer to the one than to the other: what a
// replica had a moment ago is not what it has when it is asked to stand still.
func (w *world) crashPrimaryWhileBehind() {
	primary := w.running(true)
	if primary == nil {
		return
	}
	for _, s := range primary.process.fed {
		at := way{primary.ip, s.to.pod.ip}
		w.network.slow[at] = w.between(time.Millisecond, 50*time.Millisecond)
		w.later(2*time.Second, func() { delete(w.network.slow, at) })
	}
	w.strike(w.between(100*time.Millisecond, 400*time.Millisecond), func() {
		if primary.process != nil {
			w.tell("FAULT: primary %s crashes, its replicas behind", primary.process.runID)
			primary.process.die(false)
			w.containerEnded(primary, 137)
		}
	})
}

// loneHolder lets one replica alone have what the primary wrote last, keeps the operator from it, and ends the primary (R8): the
// others must not be promoted, whatever the primary was.
func (w *world) loneHolder() {
	op, primary := w.someOperator(), w.running(true)
	if op == nil || primary == nil {
		return
	}
	var replicas []*pod
	for _, s := range primary.process.fed {
		replicas = append(replicas, s.to.pod)
	}
	if len(replicas) < 2 {
		return
	}
	first := w.rand.IntN(len(replicas))
	holder := replicas[first]
	w.tell("FAULT: only %s hears %s, and %s cannot reach it", holder.short, primary.short, op.name)
	for _, p := range replicas {
		if p != holder {
			w.network.cutBoth(primary.ip, p.ip)
			w.later(w.between(time.Second, 8*time.Second), func() { w.network.healBoth(primary.ip, p.ip) })
		}
	}
	ip := holder.ip
	w.strike(w.between(0, time.Second), func() {
		w.network.cutBoth(op.name, ip)
		w.later(w.between(time.Second, 12*time.Second), func() { w.network.healBoth(op.name, ip) })
		w.strike(w.between(0, time.Second), func() {
			if primary.process != nil {
				w.tell("FAULT: primary %s crashes", primary.process.runID)
				w.crash(primary)
			}
		})
	})
}

// wipeStatus is a resource that is restored from a backup, or a person who clears its status.
func (w *world) wipeStatus() {
	w.tell("FAULT: the status is wiped")
	w.wipedAt = time.Now()
	w.change(func(r *cachev1.RedisCluster) { r.Status = cachev1.RedisClusterStatus{} })
}
