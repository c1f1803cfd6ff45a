package monitor

import (
	"context"
	"errors"
	"time"

	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/state"
)

// read asks the node what it is and does, and enters the answer.
func (w *watcher) read(ctx context.Context, node *redis.Node) error {
	w.reading <- struct{}{}
	defer func() { <-w.reading }()
	r, err := node.Info(ctx)
	switch {
	case err == nil:
		w.enter(node, r, time.Now())
	case alive(err):
		w.lives(node, time.Now())
	}
	return err
}

// enter puts an answer into the memory.
func (w *watcher) enter(node *redis.Node, r state.Redis, now time.Time) {
	w.mu.Lock()
	before := w.obs.Redis
	if before.RunID == r.RunID {
		r.PreviousOffset = before.Offset
	}
	w.obs.follow(r, now)
	changed := w.setLink(state.LinkUp, now) || differs(before, r)
	w.obs.Redis, w.obs.Heard = r, now
	if w.node != node {
		changed = changed || w.obs.OperatorGeneration != w.loggedIn
		w.node, w.obs.OperatorGeneration = node, w.loggedIn
	}
	w.failures = failures{}
	if changed {
		w.changedAt = now
	}
	sinceChange := now.Sub(w.changedAt)
	w.mu.Unlock()

	w.group.note(r, sinceChange, now)
	if changed {
		w.log.V(1).Info("Redis changed", "role", r.Role, "runID", r.RunID, "loading", r.Loading, "syncing", r.Syncing, "linkUp", r.LinkUp)
		w.monitor.changed(w)
	}
}

// follow keeps what answers tell only together: since when the process is as it is. It needs the answer before still in place.
func (o *Observation) follow(r state.Redis, now time.Time) {
	before := o.Redis
	if before.RunID != r.RunID {
		before = state.Redis{}
		o.AccessHash, o.ReplicationGeneration, o.AttachedAt = "", 0, time.Time{}
		o.FencedSince, o.DemotedAt = time.Time{}, time.Time{}
	}
	node := state.Node{Redis: r}
	switch {
	case !node.Fenced():
		o.FencedSince = time.Time{}
	case o.FencedSince.IsZero():
		o.FencedSince = now
	}
	if r.Role != state.RolePrimary {
		if before.Role == state.RolePrimary && o.DemotedAt.IsZero() {
			o.DemotedAt = now
		}
		o.QuorumMark = 0
		return
	}
	if before.Role != r.Role {
		o.DemotedAt = time.Time{}
	}
	if before.Role != r.Role || before.ReplicationID != r.ReplicationID || before.MinReplicas != r.MinReplicas ||
		before.MaxLagSeconds != r.MaxLagSeconds {
		o.QuorumMark = r.Offset
	}
}

// lives enters that the node answered, but not with what it is. Of a process not heard yet, that is not enough for LinkUp.
func (w *watcher) lives(node *redis.Node, now time.Time) {
	w.mu.Lock()
	changed := w.node != node && w.setLink(state.LinkConnecting, now)
	w.obs.Heard = now
	w.failures = failures{}
	w.mu.Unlock()
	if changed {
		w.monitor.changed(w)
	}
}

// setLink tells whether the link was another before. It needs w.mu.
func (w *watcher) setLink(link state.Link, since time.Time) bool {
	if w.obs.Link == link {
		return false
	}
	w.obs.Link, w.obs.LinkSince = link, since
	return true
}

const (
	// confirmPause is between a first failure that came at once, such as a refusal, and the second that confirms it.
	confirmPause = 20 * time.Millisecond
	// shortestPause grows to eagerPause while the failures are young, since a container may be about to start, later to longestPause.
	shortestPause = 50 * time.Millisecond
	eagerPause    = 100 * time.Millisecond
	longestPause  = time.Second
	// eagerFor is how long failures count as young.
	eagerFor = 10 * time.Second
)

// failures are the failed attempts since the node was last heard.
type failures struct {
	count int
	first time.Time
	// last is what the last one means for the link.
	last state.Link
}

// confirmable is the number of failures up to which one that differs from the one before is tried again after confirmPause.
const confirmable = 4

// pause is how long to wait before the next attempt, after a failure that is believed or not yet.
func (f failures) pause(believed bool, now time.Time) time.Duration {
	if f.count == 1 || !believed && f.count <= confirmable {
		return confirmPause
	}
	limit := eagerPause
	if now.Sub(f.first) > eagerFor {
		limit = longestPause
	}
	return min(shortestPause<<min(f.count-2, 10), limit)
}

// failed enters a failed attempt, begun at that time, and tells how long to wait before the next.
//
// What fails at once is believed when it happens twice in a row: a server that is about to listen, or a connection that was
// reset, shows as a refusal or an end of file too. What took a time limit to fail is a silence at once.
func (w *watcher) failed(err error, began time.Time) time.Duration {
	now := time.Now()
	link, certain := meaning(err)
	w.mu.Lock()
	if w.failures.count == 0 {
		w.failures.first = began
	}
	certain = certain || w.failures.last == link
	w.failures.count++
	w.failures.last = link
	before := w.obs.Link
	changed := certain && w.setLink(link, w.since(link, began, now))
	if changed {
		w.changedAt = now
	}
	pause := w.failures.pause(certain, now)
	w.mu.Unlock()

	if changed {
		w.log.Info("Redis does not answer", "link", link.String(), "before", before.String(), "reason", err.Error())
		w.monitor.changed(w)
	}
	return pause
}

// since is when a link began to be so. A node that was up is silent since it was last heard. It needs w.mu.
func (w *watcher) since(link state.Link, began, now time.Time) time.Time {
	switch {
	case link != state.LinkSilent:
		return now
	case w.obs.Link == state.LinkUp:
		return w.obs.Heard
	case w.obs.Link == state.LinkConnecting:
		return w.failures.first
	}
	return began
}

// meaning is what a failure says of the link, and whether one such failure is enough to say so.
func meaning(err error) (link state.Link, certain bool) {
	switch {
	case redis.IsDenied(err):
		return state.LinkDenied, true
	case redis.IsRefused(err):
		return state.LinkRefused, false
	case errors.Is(err, context.DeadlineExceeded):
		return state.LinkSilent, true
	}
	return state.LinkSilent, false
}
