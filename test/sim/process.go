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
	// stopped is a process that got SIGSTOP.
	stopped bool

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
	upstream *process
	state    linkState
	heard    time.Time
	downTime time.Time
	loading  bool
	// fed are the replicas that copy from this one.
	fed []*process

	replication  userState
	masterauth   string
	operatorHash string
	sessions     []*session
}

// entry is a write in the stream; offset is where it ends.
type entry struct {
	offset int64
	id     int
}

type userState struct {
	on   bool
	hash string
}

// linkState is how a replica's link to its primary is.
type linkState int

const (
	linkDown linkState = iota
	linkTransfer
	linkUp
)

const (
	writeBytes = 40
	pingBytes  = 14
	// replTimeout is repl-timeout in redis.conf; see internal/resources.
	replTimeout = 10 * time.Second
	fenceHost   = "127.0.0.1"
)

// boot starts a process in a pod, as redis.conf says: fenced, the replication user off, unless the pod's boot role is primary.
func (w *world) boot(on *pod) *process {
	p := &process{
		world: w, pod: on, runID: fmt.Sprintf("run-%s-%d", on.short, w.number()), started: time.Now(), replid: w.newReplid(), second: -1, backlogFrom: -1,
		host: fenceHost, port: 1, downTime: time.Now(), operatorHash: w.store.operatorHash(),
	}
	if on.bootsAsPrimary() {
		p.primary, p.host, p.port = true, "", 0
	}
	w.later(w.between(5*time.Millisecond, 40*time.Millisecond), func() {
		p.listens = !p.dead
		p.cron()
	})
	return p
}

func (w *world) newReplid() string { return fmt.Sprintf("history-%d", w.number()) }

// die ends the process at once: its data are gone and its connections break.
func (p *process) die() {
	if p.dead {
		return
	}
	p.dead, p.listens = true, false
	p.pod.process = nil
	for _, s := range p.sessions {
		s.broken()
	}
	p.dropReplicas(time.Millisecond)
	p.unlink()
}

// cron is what a server does once a second.
func (p *process) cron() {
	if p.dead {
		return
	}
	p.world.later(time.Second+p.world.between(0, time.Millisecond), p.cron)
	if p.stopped {
		return
	}
	switch {
	case p.primary:
		if len(p.fed) > 0 && p.backlogFrom >= 0 {
			p.offset += pingBytes
			p.feed()
		}
	case p.state == linkDown:
		p.connect()
	case time.Since(p.heard) > replTimeout, p.broken():
		p.linkLost()
	}
}

// broken tells whether an acknowledgement would be answered by a reset.
func (p *process) broken() bool {
	return (p.upstream.dead || !slices.Contains(p.upstream.fed, p)) && p.world.connected(p.pod.ip, p.upstream.pod.ip)
}

// write is a client's. It returns false where Redis answers with an error.
func (p *process) write(id int) bool {
	if !p.primary || p.loading {
		return false
	}
	if p.backlogFrom >= 0 {
		p.offset += writeBytes
	}
	p.data = append(p.data, entry{p.offset, id})
	p.feed()
	return true
}

// replicaOf is the command REPLICAOF.
func (p *process) replicaOf(host string, port int) {
	if !p.primary && p.host == host && p.port == port {
		return // "already connected"
	}
	if p.primary {
		p.primary, p.cached = false, true // replicationCacheMasterUsingMyself
		if p.backlogFrom < 0 {
			p.backlogFrom = p.offset + 1
		}
	}
	p.unlink()
	p.host, p.port = host, port
	p.downTime = time.Now()
	p.dropReplicas(0)
	p.world.checkToldToCopy(p, host)
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
	p.primary, p.host, p.port, p.cached = true, "", 0, false
	p.dropReplicas(0)
}

// unlink gives up the link to the primary; what is known of the history stays.
func (p *process) unlink() {
	p.attempt++
	if p.upstream != nil {
		p.upstream.fed = slices.DeleteFunc(p.upstream.fed, func(r *process) bool { return r == p })
	}
	p.upstream, p.state = nil, linkDown
}

// linkLost is what a replica notices of a broken link.
func (p *process) linkLost() {
	p.unlink()
	p.downTime = time.Now()
}

// dropReplicas breaks the links of all that copy from this one; they notice a moment later.
func (p *process) dropReplicas(after time.Duration) {
	for _, r := range slices.Clone(p.fed) {
		attempt := r.attempt
		if !p.world.connected(p.pod.ip, r.pod.ip) {
			continue // nobody tells it; it runs into its time limit
		}
		if after == 0 {
			r.linkLost()
			continue
		}
		p.world.later(after+p.world.between(0, after), func() {
			if r.attempt == attempt {
				r.linkLost()
			}
		})
	}
	if after == 0 {
		p.fed = nil
	}
}

// info is the command INFO of the sections that the operator asks for.
func (p *process) info() string {
	var b strings.Builder
	line := func(key string, value any) { fmt.Fprintf(&b, "%s:%v\r\n", key, value) }
	line("redis_version", "7.0.15")
	line("run_id", p.runID)
	line("uptime_in_seconds", int(time.Since(p.started).Seconds()))
	line("loading", number(p.loading))
	line("async_loading", 0)
	if p.primary {
		line("role", "master")
		for i, r := range p.fed {
			state := "online"
			if r.state == linkTransfer {
				state = "send_bulk"
			}
			line(fmt.Sprintf("slave%d", i), fmt.Sprintf("ip=%s,port=%d,state=%s,offset=%d,lag=0", r.pod.ip, port, state, r.offset))
		}
	} else {
		line("role", "slave")
		line("master_host", p.host)
		line("master_port", p.port)
		status := "down"
		if p.state == linkUp {
			status = "up"
		}
		line("master_link_status", status)
		line("master_sync_in_progress", number(p.state == linkTransfer))
		offset := p.offset
		if p.state != linkUp && !p.cached {
			offset = 1 // neither a primary nor a cached one
		}
		line("slave_repl_offset", offset)
		if p.state != linkUp {
			line("master_link_down_since_seconds", int(time.Since(p.downTime).Seconds()))
		}
	}
	line("master_replid", p.replid)
	if p.replid2 == "" {
		line("master_replid2", strings.Repeat("0", 40))
	} else {
		line("master_replid2", p.replid2)
	}
	line("master_repl_offset", p.offset)
	line("second_repl_offset", p.second)
	return b.String()
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
