package monitor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/state"
)

// watcher keeps the connection to one pod's Redis.
type watcher struct {
	monitor *Monitor
	group   *group
	target  Target
	log     logr.Logger
	ctx     context.Context
	stop    context.CancelFunc
	// hurried asks for an answer now rather than at the next interval.
	hurried chan struct{}
	// reading has room for one from a question to its answer's entry in the memory: answers are entered in the order they were
	// given. (A channel and not a mutex: a simulation's virtual time goes on while a goroutine waits for a channel.)
	reading chan struct{}

	mu  sync.Mutex
	obs Observation
	// node is the standing connection to the process that obs.Redis tells of; nil while there is none.
	node *redis.Node
	// logins are the target's, as of the last Watch. The slice is replaced, never changed.
	logins []Login
	// loggedIn is the generation by which the newest connection logged in; obs has it from its first answer on.
	loggedIn int64
	// changedAt is when anything that matters last changed.
	changedAt time.Time
	failures  failures
}

func newWatcher(m *Monitor, g *group, target Target) *watcher {
	ctx, stop := context.WithCancel(m.ctx)
	now := time.Now()
	return &watcher{
		monitor: m, group: g, target: target, ctx: ctx, stop: stop,
		log:       m.log.WithValues("namespace", target.Namespace, "pod", target.Pod, "resource", g.owner.Name),
		hurried:   make(chan struct{}, 1),
		reading:   make(chan struct{}, 1),
		obs:       Observation{Link: state.LinkConnecting, LinkSince: now},
		logins:    slices.Clone(target.Logins),
		changedAt: now,
	}
}

// inherit takes over what is known of the same address.
func (w *watcher) inherit(old *watcher) { w.obs = old.observation() }

func (w *watcher) observation() Observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.obs
}

// hurry asks for an answer now. It never blocks.
func (w *watcher) hurry() {
	select {
	case w.hurried <- struct{}{}:
	default:
	}
}

// run connects again and again until the watcher is stopped.
func (w *watcher) run() {
	defer w.stop()
	for w.ctx.Err() == nil {
		began := time.Now()
		node, err := w.connect()
		if err == nil {
			began, err = w.follow(node)
			w.disconnect(node)
		}
		if w.ctx.Err() == nil && err != nil {
			w.pause(w.failed(err, began))
		}
	}
}

// renew makes these the logins from now on. It returns false where that takes a new watcher: no connection stands, and the new
// logins should be tried at once, or it stands by a login that is not among them.
func (w *watcher) renew(logins []Login) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.Equal(w.logins, logins) {
		return true
	}
	if w.node == nil || indexOf(logins, w.obs.OperatorGeneration) < 0 {
		return false
	}
	w.logins = slices.Clone(logins)
	return true
}

// candidates are the logins, in the order to try: first the one that the process last took.
func (w *watcher) candidates() []Login {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := indexOf(w.logins, w.obs.OperatorGeneration)
	if last <= 0 || w.obs.Redis.RunID == "" {
		return w.logins
	}
	return slices.Concat(w.logins[last:last+1], w.logins[:last], w.logins[last+1:])
}

func indexOf(logins []Login, generation int64) int {
	return slices.IndexFunc(logins, func(l Login) bool { return l.Generation == generation })
}

// connect dials, logs in and hears the node for the first time.
func (w *watcher) connect() (*redis.Node, error) {
	node, err := w.logIn()
	if err != nil {
		return nil, err
	}
	if err := w.read(w.ctx, node); err != nil && !alive(err) {
		node.Close()
		return nil, err
	}
	return node, nil
}

// logIn tries the logins, each on a connection of its own, until one is not turned away. The node's denial is an error only
// when it was the last one's.
func (w *watcher) logIn() (node *redis.Node, err error) {
	for _, login := range w.candidates() {
		credentials := redis.Credentials{Username: w.target.Username, Password: login.Password}
		node, err = redis.Connect(w.ctx, w.monitor.dial, w.target.address(), credentials)
		if err == nil {
			w.mu.Lock()
			w.loggedIn = login.Generation
			w.mu.Unlock()
		}
		if !redis.IsDenied(err) {
			break
		}
	}
	return node, err
}

// follow reads the node at intervals until that fails, and returns why, and when the failure began. The error is nil when a
// connection that had held for a while broke: what that means the next attempt to connect will tell, and it should not wait.
func (w *watcher) follow(node *redis.Node) (time.Time, error) {
	start := time.Now()
	timer := time.NewTimer(w.group.interval(start))
	defer timer.Stop()
	for {
		began := time.Now()
		select {
		case <-w.ctx.Done():
			return began, nil
		case <-node.Broken():
			if time.Since(start) < restlessInterval {
				return began, errShortLived
			}
			return began, nil
		case <-timer.C:
		case <-w.hurried:
		}
		began = time.Now()
		if err := w.read(w.ctx, node); err != nil && !alive(err) && !isBroken(node, err) {
			return began, err
		}
		timer.Reset(w.group.interval(time.Now()))
	}
}

// errShortLived: the node took the connection and ended it at once.
var errShortLived = errors.New("the node closes each connection")

// alive tells whether the error is an answer that says no more than that the node lives, such as BUSY.
func alive(err error) bool { return redis.IsReply(err) && !redis.IsDenied(err) }

// isBroken tells whether a command failed because the connection broke, rather than the connection was given up for want of an answer.
func isBroken(node *redis.Node, err error) bool {
	select {
	case <-node.Broken():
		return !errors.Is(err, context.DeadlineExceeded)
	default:
		return false
	}
}

func (w *watcher) disconnect(node *redis.Node) {
	node.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.node = nil
}

func (w *watcher) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.ctx.Done():
	case <-timer.C:
	}
}
