package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// process is a redis-server. All that it does about replication follows replication.c of Redis 7.0, whose names it uses.
type process struct {
	world   *world
	pod     *pod
	runID   string
	started time.Time
	listens bool
	dead    bool
	// stopped is a process that got SIGSTOP; inbox is what its kernel took for it meanwhile, in the order of arrival.
	stopped bool
	inbox   []func()

	primary bool
	host    string
	port    int
	// replid, replid2 and second name the history; offset is how far it goes.
	replid, replid2 string
	second          int64
	offset          int64
	// backlogFrom is the first offset that a partial copy may begin at; -1 without backlog.
	backlogFrom int64
	// cached is true if a replica without link still knows where in the history it is.
	cached bool
	data   []entry

	// attempt counts the tries to copy from a primary; what belongs to an older one is void.
	attempt  int
	upstream *stream
	state    linkState
	heard    time.Time
	downTime time.Time
	loading  bool
	// fed are the replicas that copy from this one, as far as it knows.
	fed []*stream

	quorum
	pause

	masterauth string
	users      map[string]*aclUser
	sessions   []*session
	guests     []*guest
}

// entry is a write in the stream; offset is where it ends.
type entry struct {
	offset int64
	id     int
}

// linkState is how a replica's link to its primary is.
type linkState int

const (
	linkDown linkState = iota
	linkTransfer
	linkUp
)

const (
	writeBytes  = 40
	pingBytes   = 14
	getackBytes = 37
	// replTimeout is repl-timeout in redis.conf, the failover timeout; see internal/resources.
	replTimeout = failoverTimeout
	fenceHost   = "127.0.0.1"
)

// boot starts a process in a pod, as redis.conf says: fenced, unless the pod's boot role is primary.
func (w *world) boot(on *pod) *process {
	p := &process{
		world: w, pod: on, runID: fmt.Sprintf("run-%s-%d", on.short, w.number()), started: time.Now(), replid: w.newReplid(), second: -1, backlogFrom: -1,
		downTime: time.Now(), users: bootUsers(w.store), quorum: quorum{maxLag: 10},
	}
	if host, fenced := strings.CutSuffix(w.store.setting("replicaof"), " 1"); fenced && !on.bootsAsPrimary() {
		p.host, p.port = host, 1
	} else {
		p.primary, on.wasPrimary = true, true
	}
	w.network.noted(on.ip)
	w.later(w.between(5*time.Millisecond, 40*time.Millisecond), func() {
		p.listens = !p.dead
		p.cron()
	})
	return p
}

func (w *world) newReplid() string { return fmt.Sprintf("history-%d", w.number()) }

// die ends the process at once: its data are gone and its connections break. What it had written to its connections arrives,
// unless it is lost with it.
func (p *process) die(withLoss bool) {
	if p.dead {
		return
	}
	if p.primary || p.state == linkUp {
		p.pod.served = time.Now()
	}
	p.dead, p.listens, p.stopped, p.inbox = true, false, false, nil
	p.pod.process = nil
	p.world.network.noted(p.pod.ip)
	for _, s := range p.sessions {
		s.broken()
	}
	for _, s := range slices.Clone(p.fed) {
		s.lost = withLoss
		s.closeAtPrimary()
	}
	for _, g := range slices.Clone(p.guests) {
		g.close()
	}
	p.unlink()
}

// take does what a message that arrived asks for; a process that is stopped does it when it goes on.
func (p *process) take(do func()) {
	switch {
	case p.dead:
	case p.stopped:
		p.inbox = append(p.inbox, do)
	default:
		do()
	}
}

func (p *process) stop() {
	p.stopped = true
	p.world.network.noted(p.pod.ip)
}

// goOn does all that arrived meanwhile, in that order, and only then what is due by time: aeProcessEvents handles files first.
// So a primary acknowledges by what it knew of its replicas when it was stopped.
func (p *process) goOn() {
	if !p.stopped {
		return
	}
	p.stopped = false
	p.world.network.noted(p.pod.ip)
	for len(p.inbox) > 0 && !p.dead {
		do := p.inbox[0]
		p.inbox = p.inbox[1:]
		do()
	}
	if !p.dead && p.listens {
		p.tick()
	}
}

// cron is what a server does once a second.
func (p *process) cron() {
	if p.dead {
		return
	}
	p.world.later(time.Second+p.world.between(0, time.Millisecond), p.cron)
	if !p.stopped {
		p.tick()
	}
}

// tick is replicationCron, in its order.
func (p *process) tick() {
	switch {
	case p.primary:
	case p.state == linkDown:
		p.connect()
	case p.state == linkTransfer && p.world.network.connected(p.pod.ip, p.upstream.from.pod.ip):
		p.heard = time.Now()
	case time.Since(p.heard) > replTimeout:
		p.linkLost()
	case p.state == linkUp:
		p.upstream.acknowledge()
	}
	if p.primary && len(p.fed) > 0 && p.backlogFrom >= 0 {
		p.offset += pingBytes
		p.feed()
	}
	for _, s := range slices.Clone(p.fed) {
		if s.silent() {
			p.world.tell("redis: %s gives its replica %s up", p.runID, s.to.runID)
			s.closeAtPrimary()
		}
	}
	p.recount()
}

// write is a client's, and accepted.
func (p *process) write(id int) {
	if p.backlogFrom >= 0 {
		p.offset += writeBytes
	}
	p.data = append(p.data, entry{p.offset, id})
	p.feed()
}

// replicaOf is the command REPLICAOF.
func (p *process) replicaOf(host string, port int) {
	if !p.primary && p.host == host && p.port == port {
		return // "already connected"
	}
	p.world.tellRole(p, host)
	if p.primary {
		p.pod.served = time.Now()
		p.primary, p.cached = false, true // replicationCacheMasterUsingMyself
		if p.backlogFrom < 0 {
			p.backlogFrom = p.offset + 1
		}
		p.unblock()
	}
	p.unlink()
	p.host, p.port = host, port
	p.downTime = time.Now()
	p.dropReplicas()
	p.world.checkOnePrimary()
	p.connect()
}

// promote is the command REPLICAOF NO ONE.
func (p *process) promote() {
	if p.primary {
		return
	}
	p.unlink()
	p.replid2, p.second = p.replid, p.offset+1
	p.replid = p.world.newReplid()
	p.primary, p.pod.wasPrimary, p.host, p.port, p.cached = true, true, "", 0, false
	p.dropReplicas()
	p.world.checkOnePrimary()
}

// unlink gives up the link to the primary; what is known of the history stays.
func (p *process) unlink() {
	p.attempt++
	if p.state == linkUp {
		p.pod.served = time.Now()
	}
	if p.upstream != nil {
		p.upstream.closeAtReplica()
	}
	p.upstream, p.state = nil, linkDown
}

// linkLost is what a replica notices of a broken link.
func (p *process) linkLost() {
	p.unlink()
	p.downTime = time.Now()
}

// dropReplicas breaks the links of all that copy from this one.
func (p *process) dropReplicas() {
	for _, s := range slices.Clone(p.fed) {
		s.closeAtPrimary()
	}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
