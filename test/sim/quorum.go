package sim

import "time"

// quorum is what a server knows of min-replicas-to-write (replication.c), and the clients that WAIT.
type quorum struct {
	minReplicas int
	maxLag      int64
	// needsSince is when minReplicas became what it is.
	needsSince time.Time
	// good is repl_good_slaves_count: what was counted last, not what is.
	good    int
	waiting []*waiter
}

// waiter is a client that waits until so many replicas have a write.
type waiter struct {
	offset int64
	need   int
	done   func(count int)
}

// recount is refreshGoodSlavesCount. Redis counts once a second (replicationCron), when a replica becomes online
// (replicaPutOnline, masterTryPartialResync), when a replica's connection is closed (freeClient) and when one of the two
// settings is set (updateGoodSlaves in config.c); never in between, and not at all while the rule is off.
func (p *process) recount() {
	if p.minReplicas == 0 || p.maxLag == 0 {
		return
	}
	good := 0
	for _, s := range p.fed {
		good += number(s.online && s.lag() <= p.maxLag)
	}
	p.good = good
}

// enough is checkGoodReplicasStatus.
func (p *process) enough() bool {
	return !p.primary || p.minReplicas == 0 || p.maxLag == 0 || p.good >= p.minReplicas
}

// having counts the replicas that acknowledged an offset: replicationCountAcksByOffset.
func (p *process) having(offset int64) int {
	count := 0
	for _, s := range p.fed {
		count += number(s.online && s.acked >= offset)
	}
	return count
}

// wait is WAIT after a write: the replicas are asked, and the client is told once enough have answered or time is up.
func (p *process) wait(need int, limit time.Duration, done func(count int)) {
	if count := p.having(p.offset); count >= need {
		done(count)
		return
	}
	w := &waiter{p.offset, need, done}
	p.waiting = append(p.waiting, w)
	if len(p.fed) > 0 && p.backlogFrom >= 0 {
		p.offset += getackBytes
		for _, s := range p.fed {
			s.getack = p.offset
		}
		p.feed()
	}
	p.world.later(limit, func() {
		p.take(func() {
			if p.forget(w) {
				w.done(p.having(w.offset))
			}
		})
	})
}

func (p *process) forget(w *waiter) bool {
	for i, other := range p.waiting {
		if other == w {
			p.waiting = append(p.waiting[:i:i], p.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// answerWaits is processClientsWaitingReplicas.
func (p *process) answerWaits() {
	for i := 0; i < len(p.waiting); {
		w := p.waiting[i]
		if count := p.having(w.offset); count >= w.need {
			p.waiting = append(p.waiting[:i:i], p.waiting[i+1:]...)
			w.done(count)
			continue
		}
		i++
	}
}

// unblock is disconnectAllBlockedClients, where a primary becomes a replica: who waits is told that he waits in vain. Clients
// that are paused are not among them.
func (p *process) unblock() {
	waiting := p.waiting
	p.waiting = nil
	for _, w := range waiting {
		w.done(-1)
	}
}
