package sim

import (
	"slices"
	"time"
)

// stream is the connection of a replica to its primary. Each end may be closed while the other does not know it yet, for as long
// as the network keeps it from knowing.
type stream struct {
	id       int
	from, to *process

	// open is true until the primary's end is closed; the replica's end is open while to.upstream is this.
	open bool
	// online is SLAVE_STATE_ONLINE: the copy is there. acked and ackedAt are repl_ack_off and repl_ack_time.
	online  bool
	acked   int64
	ackedAt time.Time

	// flying is true while something is on its way to the replica; once the primary's end is closed nothing beyond last follows.
	flying bool
	last   int64
	data   []entry
	// lost is true if what was on its way when the primary died does not arrive.
	lost bool
	// getack is the offset up to which the primary asked for an acknowledgement.
	getack int64
	// ackFlying is true while an acknowledgement is on its way, of ackOffset by now.
	ackFlying bool
	ackOffset int64
}

func (p *process) newStream(to *process) *stream {
	s := &stream{id: p.world.connection(), from: p, to: to, open: true, ackedAt: time.Now()}
	p.fed = append(p.fed, s)
	return s
}

// void tells whether the replica has given the connection up.
func (s *stream) void() bool { return s.to.dead || s.to.upstream != s }

// feed sends what is new to all replicas; it takes a moment.
func (p *process) feed() {
	for _, s := range p.fed {
		s.send()
	}
}

// send lets what is new travel to the replica. There is one message on the way at a time, which is what TCP amounts to here.
func (s *stream) send() {
	if s.flying || s.to.state != linkUp || s.void() {
		return
	}
	s.flying = true
	w, upTo, data := s.from.world, s.from.offset, s.from.data
	if !s.open {
		upTo, data = s.last, s.data
	}
	takes := w.between(100*time.Microsecond, 2*time.Millisecond) + w.network.slow[way{s.from.pod.ip, s.to.pod.ip}]
	w.network.carry(s.from.pod.ip, s.to.pod.ip, takes, s.void, func() {
		s.flying = false
		if s.lost || s.from.pod.gone && s.from.dead {
			return
		}
		s.to.take(func() { s.receive(upTo, data) })
		if latest := s.latest(); latest > upTo {
			s.send()
		}
	})
}

// latest is how far the primary has written to this connection.
func (s *stream) latest() int64 {
	if s.open {
		return s.from.offset
	}
	return s.last
}

// receive is what the replica does with what arrived.
func (s *stream) receive(upTo int64, data []entry) {
	p := s.to
	if s.void() || p.state != linkUp {
		return
	}
	p.heard = time.Now()
	if upTo > p.offset {
		p.data = append(p.data, span(data, p.offset, upTo)...)
		asked := s.getack > p.offset && s.getack <= upTo
		p.offset = upTo
		p.feed()
		if asked {
			s.acknowledge()
		}
	}
}

// span are the entries of a stream beyond one offset and up to another.
func span(data []entry, from, to int64) []entry {
	end := len(data)
	for end > 0 && data[end-1].offset > to {
		end--
	}
	begin := end
	for begin > 0 && data[begin-1].offset > from {
		begin--
	}
	return data[begin:end]
}

// acknowledge is REPLCONF ACK: once a second, when asked (GETACK), and at the end of a full copy (readSyncBulkPayload).
func (s *stream) acknowledge() {
	s.ackOffset = s.to.offset
	if s.ackFlying {
		return
	}
	s.ackFlying = true
	w := s.from.world
	w.network.carry(s.to.pod.ip, s.from.pod.ip, w.between(100*time.Microsecond, 2*time.Millisecond), func() bool { return !s.open }, func() {
		s.ackFlying = false
		offset := s.ackOffset
		s.from.take(func() { s.acknowledged(offset) })
	})
}

// acknowledged is replconfCommand with ACK. It does not count the good replicas anew.
func (s *stream) acknowledged(offset int64) {
	if !s.open {
		return
	}
	s.acked = max(s.acked, offset)
	s.ackedAt = time.Now()
	if !s.online {
		s.putOnline() // the first one after a full copy
	}
	s.from.answerWaits()
}

// putOnline is replicaPutOnline, and what masterTryPartialResync does: the good replicas are counted.
func (s *stream) putOnline() {
	s.online, s.ackedAt = true, time.Now()
	s.from.recount()
	s.send()
}

// lag is as INFO tells it: in whole seconds of the clock.
func (s *stream) lag() int64 {
	if !s.online {
		return 0
	}
	return time.Now().Unix() - s.ackedAt.Unix()
}

// silent tells whether the primary gives the replica up (replicationCron: "Disconnect timedout slaves").
func (s *stream) silent() bool {
	if s.online {
		return s.lag() > int64(replTimeout/time.Second)
	}
	if s.from.world.network.connected(s.from.pod.ip, s.to.pod.ip) && !s.to.stopped {
		s.ackedAt = time.Now() // the copy goes on
	}
	return time.Since(s.ackedAt) > replTimeout
}

// closeAtPrimary is freeClient of a replica at its primary. The replica is told, after what was sent before.
func (s *stream) closeAtPrimary() {
	if !s.open {
		return
	}
	s.last, s.data, s.open = s.from.offset, s.from.data, false
	s.from.fed = slices.DeleteFunc(s.from.fed, func(other *stream) bool { return other == s })
	s.from.recount()
	s.fin()
}

func (s *stream) fin() {
	w := s.from.world
	void := func() bool { return s.void() || s.from.dead && s.from.pod.gone }
	w.network.carry(s.from.pod.ip, s.to.pod.ip, w.between(100*time.Microsecond, 2*time.Millisecond), void, func() {
		if s.flying && !s.lost {
			s.fin()
			return
		}
		s.to.take(func() {
			if !s.void() {
				s.to.linkLost()
			}
		})
	})
}

// closeAtReplica tells the primary that the replica has closed the connection.
func (s *stream) closeAtReplica() {
	w := s.from.world
	void := func() bool { return !s.open || s.to.dead && s.to.pod.gone }
	w.network.carry(s.to.pod.ip, s.from.pod.ip, w.between(50*time.Microsecond, time.Millisecond), void, func() {
		s.from.take(s.closeAtPrimary)
	})
}
