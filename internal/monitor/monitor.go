// Package monitor keeps one connection to each Redis pod, remembers what each node last said, and wakes the reconciler when
// something that matters has changed.
//
// It asks once a second, ten times a second while a node is on its way somewhere, and it looks again the moment a connection
// breaks: so a death is known within milliseconds. Offsets alone never wake: a steady resource is silent.
package monitor

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/state"
)

// Target is a Redis pod to watch, and how to log in to it.
type Target struct {
	Namespace string
	Pod       string
	UID       types.UID
	IP        string
	Port      int32
	Username  string
	// Logins are tried in this order, the one that worked last before the others. There must be one.
	Logins []Login
}

// Login is a generation of the password. The generation stands for it: two logins of one generation are taken for the same.
type Login struct {
	Generation int64
	Password   string
}

// same tells whether both are the same pod at the same address, with the same name to log in by. It leaves Logins out.
func (t Target) same(other Target) bool {
	return t.UID == other.UID && t.address() == other.address() && t.Username == other.Username
}

func (t Target) address() redis.Address {
	return redis.Address{Namespace: t.Namespace, Pod: t.Pod, IP: t.IP, Port: t.Port}
}

// Observation is what is known of a node.
type Observation struct {
	// Redis is what the node last said; it stays when the node falls silent. Without RunID, it never said anything.
	Redis state.Redis
	Link  state.Link
	// LinkSince is when Link became what it is; for a silence, when the last answer came, or the first try without one began.
	LinkSince time.Time
	// Heard is when Redis was last heard; zero means never.
	Heard time.Time
	// AccessHash and ReplicationGeneration are what NoteAccess and NoteReplication noted of this very process; AttachedAt is when
	// the latter did.
	AccessHash            string
	ReplicationGeneration int64
	AttachedAt            time.Time
	// OperatorGeneration is the generation of the password by which the connection logged in, or what NoteOperatorGeneration noted
	// since.
	OperatorGeneration int64
	// FencedSince is when this process was first read as fenced; zero while it is not.
	FencedSince time.Time
	// DemotedAt is when this process ceased to be the primary: by NoteHeld, or since it was read as a replica after it had been read
	// as a primary. Zero where it was not so, or is the primary again.
	DemotedAt time.Time
	// QuorumMark is a primary's Offset in the first answer with its present MinReplicas and MaxLagSeconds; 0 of a replica. What is
	// beyond it was acknowledged under these, if nobody but the operator changes them. A node that becomes a primary anew, or
	// begins another history, gets a new mark.
	QuorumMark int64
}

// Monitor watches the nodes of all resources.
type Monitor struct {
	dial redis.Dialer
	wake func(owner types.NamespacedName)
	log  logr.Logger

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu     sync.Mutex
	groups map[types.NamespacedName]*group
	byUID  map[types.UID]*watcher
}

// New makes a monitor that watches nothing yet. It calls wake from its own goroutines; wake must not block.
func New(dial redis.Dialer, wake func(owner types.NamespacedName), log logr.Logger) *Monitor {
	ctx, stop := context.WithCancel(context.Background())
	return &Monitor{
		dial: dial, wake: wake, log: log, ctx: ctx, stop: stop,
		groups: map[types.NamespacedName]*group{},
		byUID:  map[types.UID]*watcher{},
	}
}

// Watch makes these, and no others, the nodes watched for a resource. It is cheap when nothing changed. A pod whose address or
// username changed is connected to anew; so is one whose logins changed, unless a connection stands by one that is still among
// them. With the same address, what is known of a pod is kept. A target without an IP or without a login is left out.
func (m *Monitor) Watch(owner types.NamespacedName, targets []Target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return
	}
	g := m.groups[owner]
	if g == nil {
		g = &group{owner: owner, members: map[types.UID]*watcher{}}
		m.groups[owner] = g
	}
	wanted := make(map[types.UID]bool, len(targets))
	for _, target := range targets {
		if target.IP == "" || len(target.Logins) == 0 {
			continue
		}
		wanted[target.UID] = true
		old := g.members[target.UID]
		if old != nil && old.target.same(target) && old.renew(target.Logins) {
			continue
		}
		m.start(g, target, old)
	}
	for uid, w := range g.members {
		if !wanted[uid] {
			m.end(w)
		}
	}
}

// start begins to watch a target; it takes over from the old watcher of the same pod, if there is one.
func (m *Monitor) start(g *group, target Target, old *watcher) {
	w := newWatcher(m, g, target)
	if old != nil {
		m.end(old)
		if old.target.IP == target.IP && old.target.Port == target.Port {
			w.inherit(old)
		}
	}
	g.members[target.UID] = w
	m.byUID[target.UID] = w
	m.wg.Go(w.run)
}

func (m *Monitor) end(w *watcher) {
	w.stop()
	delete(w.group.members, w.target.UID)
	if m.byUID[w.target.UID] == w {
		delete(m.byUID, w.target.UID)
	}
}

// Forget stops watching a resource's nodes. Its goroutines end soon after.
func (m *Monitor) Forget(owner types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groups[owner]
	if g == nil {
		return
	}
	for _, w := range g.members {
		m.end(w)
	}
	delete(m.groups, owner)
}

// Observations are what is known of a resource's nodes, by the UID of their pods.
func (m *Monitor) Observations(owner types.NamespacedName) map[types.UID]Observation {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groups[owner]
	if g == nil {
		return nil
	}
	all := make(map[types.UID]Observation, len(g.members))
	for uid, w := range g.members {
		all[uid] = w.observation()
	}
	return all
}

// Close ends all connections and waits until every goroutine has ended.
func (m *Monitor) Close() {
	m.mu.Lock()
	m.stop()
	m.mu.Unlock()
	m.wg.Wait()
}

func (m *Monitor) watcher(uid types.UID) *watcher {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byUID[uid]
}

// changed tells the reconciler, and lets the other nodes of the resource be read at once: what happened to one mostly shows in
// the others, and a decision should not rest on what they said up to a second ago.
func (m *Monitor) changed(w *watcher) {
	if w.ctx.Err() != nil {
		return
	}
	m.wake(w.group.owner)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, other := range w.group.members {
		if other != w {
			other.hurry()
		}
	}
}
