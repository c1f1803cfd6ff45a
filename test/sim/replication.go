package sim

import (
	"slices"
	"time"
)

// connect is a replica's try to copy from its primary: connectWithMaster and syncWithMaster.
func (p *process) connect() {
	if p.dead || p.primary || p.host == fenceHost || p.state != linkDown {
		return
	}
	p.attempt++
	attempt, w := p.attempt, p.world
	w.later(w.between(500*time.Microsecond, 3*time.Millisecond), func() {
		if p.attempt == attempt && !p.dead && !p.stopped {
			p.handshake()
		}
	})
}

// handshake logs in and asks for a partial copy; if there is none, a full one begins.
func (p *process) handshake() {
	from := p.world.processAt(p.host)
	if from == nil || from.dead || from.stopped || from == p || !p.world.connected(p.pod.ip, from.pod.ip) || port != p.port {
		return // refused or silent; cron tries again
	}
	if !from.replication.on || from.replication.hash != hashOf(p.masterauth) || from.loading {
		return // WRONGPASS, LOADING
	}
	if !from.primary && from.state != linkUp {
		return // NOMASTERLINK
	}
	if from.backlogFrom < 0 {
		// A backlog that begins has a history of its own: changeReplicationId, clearReplicationId2.
		from.replid, from.replid2, from.second = p.world.newReplid(), "", -1
		from.backlogFrom = from.offset + 1
	}
	p.upstream = from
	from.fed = append(from.fed, p)
	p.heard = time.Now()
	known := p.replid == from.replid || (p.replid == from.replid2 && p.offset+1 <= from.second)
	if p.cached && known && p.offset+1 >= from.backlogFrom && p.offset <= from.offset {
		p.continueFrom(from)
		return
	}
	p.copyAll(from)
}

// continueFrom is a partial copy (+CONTINUE): the history may get a new name.
func (p *process) continueFrom(from *process) {
	if p.replid != from.replid {
		p.replid2, p.second, p.replid = p.replid, p.offset+1, from.replid
	}
	p.state, p.cached = linkUp, true
	p.world.checkPrefix(p, from)
	p.receive()
}

// copyAll is a full copy (+FULLRESYNC). The old data stay until the new ones are there; where there are none, the new ones are
// loaded as they come (repl-diskless-load on-empty-db).
func (p *process) copyAll(from *process) {
	w := p.world
	w.checkCopy(p, from)
	p.state, p.cached = linkTransfer, false
	attempt := p.attempt
	snapshot, offset, replid := slices.Clone(from.data), from.offset, from.replid
	empty := len(p.data) == 0
	p.loading = false
	w.later(w.between(20*time.Millisecond, 800*time.Millisecond), func() {
		if p.attempt != attempt || p.dead {
			return
		}
		if empty {
			p.install(from, snapshot, offset, replid)
			return
		}
		p.loading = true // not to be interrupted, and deaf to REPLICAOF
		w.later(w.between(20*time.Millisecond, 300*time.Millisecond), func() {
			if p.dead {
				return
			}
			p.loading = false
			w.checkReplaced(p, snapshot)
			lost := p.attempt != attempt
			p.install(from, snapshot, offset, replid)
			if lost {
				p.unlink()
			}
		})
	})
}

// install makes a full copy the data of this process.
func (p *process) install(from *process, snapshot []entry, offset int64, replid string) {
	p.data, p.offset, p.replid, p.replid2, p.second = snapshot, offset, replid, "", -1
	p.backlogFrom = offset + 1
	p.cached, p.state, p.heard = true, linkUp, time.Now()
	if p.upstream == from {
		p.receive()
	}
}

// feed sends what is new to all replicas; it takes a moment.
func (p *process) feed() {
	for _, r := range p.fed {
		if r.state == linkUp {
			r.receive()
		}
	}
}

// receive takes what is new from the primary, a moment later, as long as the link stands.
func (p *process) receive() {
	attempt, w, from := p.attempt, p.world, p.upstream
	w.later(w.between(100*time.Microsecond, 2*time.Millisecond), func() {
		if p.attempt != attempt || p.dead || p.stopped || p.state != linkUp || from.dead || from.stopped || !w.connected(p.pod.ip, from.pod.ip) {
			return
		}
		p.heard = time.Now()
		p.data = append(p.data, newer(from.data, p.offset)...)
		if from.offset > p.offset {
			p.offset = from.offset
			p.feed()
		}
	})
}

// newer are the entries of a stream beyond an offset.
func newer(data []entry, offset int64) []entry {
	at := len(data)
	for at > 0 && data[at-1].offset > offset {
		at--
	}
	return data[at:]
}
