package act

import (
	"context"
	"errors"
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
)

// handOver brings the primary and its successor to the point where the successor can be claimed: it has everything, and nobody
// is writable. Where that fails after the primary was frozen it is made the primary again, since the claim still names it.
//
// The pause holds clients' writes, and not the PINGs to replicas (Redis' replication.c): one may slip in between the two looks
// at the offset, and the successor never gets it. So the offsets are compared again after the freeze.
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
	err := a.onNode(ctx, action.From, "freezing", func(ctx context.Context, n *redis.Node) error { return n.Freeze(ctx) })
	if err != nil {
		return err
	}
	last, err := a.heard(on, action.From)
	if err != nil {
		return err
	}
	at, err := a.offset(ctx, on, action.To)
	if err == nil && at < last.Redis.Offset {
		err = notNow("a PING to %s came in between", action.To)
	}
	if err != nil {
		return errors.Join(err, a.onNode(ctx, action.From, "going on with", func(ctx context.Context, n *redis.Node) error {
			if err := n.PromoteToPrimary(ctx); err != nil {
				return err
			}
			return n.Unpause(ctx)
		}))
	}
	return nil
}

// hasAllOf waits until the successor has all that the paused primary has.
func (a *Actor) hasAllOf(ctx context.Context, on *subject, action plan.HandOver) error {
	offset, err := a.offset(ctx, on, action.From)
	if err != nil {
		return err
	}
	return a.reaches(ctx, on, action.To, offset)
}
