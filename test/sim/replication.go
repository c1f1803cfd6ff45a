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

// admits tells whether a replica with that password may copy from here (ACL user replication).
func (p *process) admits(password string) bool { return p.users[replicationUser].admits(password) }

// handshake logs in and asks for a partial copy; if there is none, a full one begins.
func (p *process) handshake() {
	from := p.world.processAt(p.host)
	if from == nil || from.dead || from.stopped || from == p || !p.world.network.connected(p.pod.ip, from.pod.ip) || port != p.port {
		return // refused or silent; cron tries again
	}
	if !from.admits(p.masterauth) || from.loading {
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
	p.upstream = from.newStream(p)
	p.heard = time.Now()
	p.world.checkAttached(p, from)
	p.world.checkOnePrimary()
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
	p.upstream.putOnline()
}

// copyAll is a full copy (+FULLRESYNC). The old data stay until the new ones are there; where there are none, the new ones are
// loaded as they come (repl-diskless-load on-empty-db).
func (p *process) copyAll(from *process) {
	w, s := p.world, p.upstream
	w.checkCopy(p, from)
	p.state, p.cached = linkTransfer, false
	attempt := p.attempt
	snapshot, offset, replid := slices.Clone(from.data), from.offset, from.replid
	empty := len(p.data) == 0
	p.loading = false
	arrives := w.between(20*time.Millisecond, 800*time.Millisecond)
	w.network.carry(from.pod.ip, p.pod.ip, arrives, func() bool { return p.attempt != attempt || p.dead || !s.open }, func() {
		p.take(func() {
			if p.attempt == attempt {
				p.load(s, empty, snapshot, offset, replid)
			}
		})
	})
}

// load makes a full copy that has arrived the data of this process.
func (p *process) load(s *stream, empty bool, snapshot []entry, offset int64, replid string) {
	if empty {
		p.install(s, snapshot, offset, replid)
		return
	}
	p.loading = true // not to be interrupted, and deaf to REPLICAOF
	attempt := p.attempt
	p.world.later(p.world.between(20*time.Millisecond, 300*time.Millisecond), func() {
		p.take(func() {
			p.loading = false
			p.world.checkReplaced(p, snapshot)
			lost := p.attempt != attempt
			p.install(s, snapshot, offset, replid)
			if lost {
				p.unlink()
			}
		})
	})
}

// install makes a full copy the data of this process.
func (p *process) install(s *stream, snapshot []entry, offset int64, replid string) {
	p.data, p.offset, p.replid, p.replid2, p.second = snapshot, offset, replid, "", -1
	p.backlogFrom = offset + 1
	p.cached, p.state, p.heard = true, linkUp, time.Now()
	if p.upstream == s {
		s.acknowledge()
	}
}
