package act

import (
	"context"
	"fmt"

	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

// onNode runs commands on the process that a decision was made for. An answer that does not come is not a failure: what became
// of the node shows at the next look.
func (a *Actor) onNode(ctx context.Context, target plan.Target, doing string, f func(ctx context.Context, n *redis.Node) error) error {
	err := a.Nodes.Do(ctx, target.UID, target.RunID, f)
	switch {
	case err == nil:
		return nil
	case redis.IsReply(err):
		return fmt.Errorf("%s %s: %w", doing, target, err)
	}
	return notNow("%s %s: %v", doing, target, err)
}

// freeze makes a node serve nobody and copy from nobody. It keeps its data, offset and history.
func (a *Actor) freeze(ctx context.Context, action plan.Freeze) error {
	if err := a.onNode(ctx, action.Node, "freezing", func(ctx context.Context, n *redis.Node) error {
		return n.Freeze(ctx)
	}); err != nil {
		return err
	}
	return nil
}

// promote makes a node the primary, if the claim names this very process in this epoch. Replicas are let in first, by the
// password of the epoch, so that the first of them may attach at once.
func (a *Actor) promote(ctx context.Context, on *subject, action plan.Promote) error {
	claim := on.resource.Status.Claim
	if claim == nil || claim.Epoch != action.Epoch || claim.Primary.UID != action.Node.UID || claim.RunID != action.Node.RunID {
		return notNow("the claim does not name %s in epoch %d", action.Node, action.Epoch)
	}
	rules := a.replicationRules(on, action.Epoch)
	if err := a.onNode(ctx, action.Node, "promoting", func(ctx context.Context, n *redis.Node) error {
		if err := n.SetUser(ctx, credentials.ReplicationUser, rules...); err != nil {
			return err
		}
		return n.PromoteToPrimary(ctx)
	}); err != nil {
		return err
	}
	a.Nodes.NoteReplication(action.Node.UID, action.Node.RunID, action.Epoch)
	if heard := a.Nodes.Observations(on.snapshot.Want.Key)[action.Node.UID]; heard.Redis.Role != state.RolePrimary {
		return notNow("%s does not yet say that it is the primary", action.Node)
	}
	return nil
}

// openReplication lets replicas of the epoch in on the primary.
func (a *Actor) openReplication(ctx context.Context, on *subject, action plan.OpenReplication) error {
	rules := a.replicationRules(on, action.Epoch)
	if err := a.onNode(ctx, action.Node, "opening for replicas", func(ctx context.Context, n *redis.Node) error {
		return n.SetUser(ctx, credentials.ReplicationUser, rules...)
	}); err != nil {
		return err
	}
	a.Nodes.NoteReplication(action.Node.UID, action.Node.RunID, action.Epoch)
	return nil
}

func (a *Actor) replicationRules(on *subject, epoch int64) []string {
	return resources.ReplicationRules(resources.PasswordHash(a.Credentials.ReplicationPassword(on.snapshot.Want.UID, epoch)))
}

// attach makes a node copy from the primary, if the claim still names that primary in this epoch.
func (a *Actor) attach(ctx context.Context, on *subject, action plan.Attach) error {
	claim := on.resource.Status.Claim
	if claim == nil || claim.Epoch != action.Epoch || claim.Primary.UID != action.Primary.UID || claim.RunID != action.Primary.RunID {
		return notNow("the claim does not name %s in epoch %d", action.Primary, action.Epoch)
	}
	heard := a.Nodes.Observations(on.snapshot.Want.Key)[action.Primary.UID]
	if heard.Redis.Role != state.RolePrimary || heard.Redis.ReplicationID != claim.ReplicationID {
		return notNow("%s is not the primary with the recorded history", action.Primary)
	}
	password := a.Credentials.ReplicationPassword(on.snapshot.Want.UID, action.Epoch)
	if err := a.onNode(ctx, action.Node, "attaching", func(ctx context.Context, n *redis.Node) error {
		// A replica must not be able to be copied from by its own former replicas: only a primary has this user on.
		if err := n.SetUser(ctx, credentials.ReplicationUser, resources.ReplicationOffRules()...); err != nil {
			return err
		}
		if err := n.SetReplicationLogin(ctx, credentials.ReplicationUser, password); err != nil {
			return err
		}
		return n.ReplicaOf(ctx, action.PrimaryIP, action.PrimaryPort)
	}); err != nil {
		return err
	}
	a.Nodes.NoteReplication(action.Node.UID, action.Node.RunID, action.Epoch)
	return nil
}

// setAccess makes the default user of a node what the resource asks for. Open connections stay.
func (a *Actor) setAccess(ctx context.Context, action plan.SetAccess) error {
	rules := resources.DefaultUserRules(state.Access{DefaultHash: action.DefaultHash})
	if err := a.onNode(ctx, action.Node, "setting the default user of", func(ctx context.Context, n *redis.Node) error {
		return n.SetUser(ctx, "default", rules...)
	}); err != nil {
		return err
	}
	a.Nodes.NoteAccess(action.Node.UID, action.Node.RunID, action.Hash)
	return nil
}
