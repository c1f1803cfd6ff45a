package act

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/state"
)

const (
	// catchUpTime is how long a switchover, or a leave, waits for a replica to have what its primary has: without writes that is
	// less than a millisecond on a healthy network.
	catchUpTime = time.Second
	// pauseTime is how long writes may stand still in a switchover. It covers catching up and closing the clients of the old
	// primary; where nobody ends it, it ends by itself.
	pauseTime = 5 * time.Second
	// holdTime is how long an old primary holds writes if no operator ends it: for good, as a frozen node stays frozen.
	holdTime = 24 * time.Hour
)

// handOver brings the primary and its successor to the point where the successor can be claimed: it has everything, and nobody
// is writable. Where that fails the primary goes on, since the claim still names it.
func (a *Actor) handOver(ctx context.Context, on *subject, action plan.HandOver) error {
	claim := on.resource.Status.Claim
	if claim == nil || claim.Primary.UID != action.From.UID || claim.RunID != action.From.RunID {
		return notNow("the claim does not name %s", action.From)
	}
	if heard, err := a.heard(on, action.To); err != nil || heard.Redis.Role != state.RoleReplica || !heard.Redis.LinkUp {
		return notNow("%s does not copy from %s", action.To, action.From)
	}
	if err := a.onNode(ctx, action.From, "pausing writes at", func(ctx context.Context, n *redis.Node) error {
		return n.PauseWrites(ctx, pauseTime)
	}); err != nil {
		return err
	}
	if err := a.hasAllOf(ctx, on, action); err != nil {
		return errors.Join(err, a.onNode(ctx, action.From, "going on with", func(ctx context.Context, n *redis.Node) error { return n.Unpause(ctx) }))
	}
	if action.Hold {
		return a.hold(ctx, on, action)
	}
	return a.freezeOld(ctx, on, action)
}

// hold makes sure that nothing can be confirmed at the old primary, by freezing its replicas, and holds its clients' writes until an
// operator ends that: a client that comes there meanwhile is told nothing, and is closed later. Redis refuses a write for want of
// replicas before it looks at the pause (processCommand in server.c), so it must need none.
//
// The replicas are frozen first: another operator that finds them so lets the primary go on (plan.Resume). From then on no PING
// carries the primary's offset beyond the successor's. Where this fails half done, the next look sees that it is held.
func (a *Actor) hold(ctx context.Context, on *subject, action plan.HandOver) error {
	a.Nodes.NoteHeld(action.From.UID, action.From.RunID, true)
	for _, replica := range slices.Concat(action.Others, []plan.Target{action.To}) {
		if err := a.freeze(ctx, plan.Freeze{Node: replica}); err != nil {
			return err
		}
	}
	if err := a.onNode(ctx, action.From, "holding writes at", func(ctx context.Context, n *redis.Node) error {
		if err := n.PauseWrites(ctx, holdTime); err != nil {
			return err
		}
		return n.SetQuorum(ctx, 0, seconds(on.snapshot.MaxLag()))
	}); err != nil {
		return err
	}
	return a.hasLast(ctx, on, action)
}

// freezeOld freezes the old primary. Where a PING came in between, which the successor never gets, it is made the primary again.
func (a *Actor) freezeOld(ctx context.Context, on *subject, action plan.HandOver) error {
	if err := a.onNode(ctx, action.From, "freezing", func(ctx context.Context, n *redis.Node) error { return n.Freeze(ctx) }); err != nil {
		return err
	}
	err := a.hasLast(ctx, on, action)
	if err != nil {
		err = errors.Join(err, a.onNode(ctx, action.From, "going on with", func(ctx context.Context, n *redis.Node) error {
			if err := n.PromoteToPrimary(ctx); err != nil {
				return err
			}
			return n.Unpause(ctx)
		}))
	}
	return err
}

// hasLast tells whether the successor has all that the primary had when it was last heard. The pause holds clients' writes, and not
// the PINGs to replicas (Redis' replication.c): one may slip in after the first look at the offset.
func (a *Actor) hasLast(ctx context.Context, on *subject, action plan.HandOver) error {
	last, err := a.heard(on, action.From)
	if err != nil {
		return err
	}
	at, err := a.offset(ctx, on, action.To)
	if err == nil && at < last.Redis.Offset {
		err = notNow("a PING to %s came in between", action.To)
	}
	return err
}

// resume lets a primary's clients go on, needing the quorum on record.
func (a *Actor) resume(ctx context.Context, on *subject, action plan.Resume) error {
	claim, err := on.claimOf(action.Epoch, action.Node)
	if err != nil {
		return err
	}
	heard, err := a.heard(on, action.Node)
	if err != nil {
		return err
	}
	if err := a.onNode(ctx, action.Node, "going on with", func(ctx context.Context, n *redis.Node) error {
		if heard.Redis.MinReplicas < claim.Quorum {
			if err := n.SetQuorum(ctx, claim.Quorum, seconds(on.snapshot.MaxLag())); err != nil {
				return err
			}
		}
		return n.Unpause(ctx)
	}); err != nil {
		return err
	}
	a.Nodes.NoteHeld(action.Node.UID, action.Node.RunID, false)
	return nil
}

// hasAllOf waits until the successor has all that the paused primary has, and so have those that are to confirm what it acknowledges.
func (a *Actor) hasAllOf(ctx context.Context, on *subject, action plan.HandOver) error {
	offset, err := a.offset(ctx, on, action.From)
	if err != nil {
		return err
	}
	for _, replica := range slices.Concat([]plan.Target{action.To}, action.Witnesses) {
		if err := a.reaches(ctx, on, replica, offset); err != nil {
			return err
		}
	}
	return nil
}
