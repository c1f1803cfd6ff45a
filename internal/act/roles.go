package act

import (
	"context"
	"fmt"
	"time"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/monitor"
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

// heard is what the process that a decision was made for last said.
func (a *Actor) heard(on *subject, target plan.Target) (monitor.Observation, error) {
	heard, ok := a.Nodes.Observations(on.snapshot.Want.Key)[target.UID]
	if !ok || heard.Redis.RunID != target.RunID {
		return heard, notNow("%s is another process now", target)
	}
	return heard, nil
}

// claimOf is the claim, if it still is of that epoch and names that process as the primary.
func (on *subject) claimOf(epoch int64, primary plan.Target) (*cachev1.Claim, error) {
	c := on.resource.Status.Claim
	if c == nil || c.Epoch != epoch || c.Primary.UID != primary.UID || c.RunID != primary.RunID {
		return nil, notNow("the claim does not name %s in epoch %d", primary, epoch)
	}
	return c, nil
}

// freeze makes a node serve nobody and copy from nobody. It keeps its data, offset and history.
func (a *Actor) freeze(ctx context.Context, action plan.Freeze) error {
	return a.onNode(ctx, action.Node, "freezing", func(ctx context.Context, n *redis.Node) error { return n.Freeze(ctx) })
}

// demote freezes a primary that should be none, and closes its clients, who would go on writing to it. Writes that it held are
// refused then.
func (a *Actor) demote(ctx context.Context, action plan.Demote) error {
	return a.onNode(ctx, action.Node, "demoting", func(ctx context.Context, n *redis.Node) error {
		if err := n.Freeze(ctx); err != nil {
			return err
		}
		if _, err := n.KillClients(ctx); err != nil {
			return err
		}
		return n.Unpause(ctx)
	})
}

// promote makes a node the primary, if the claim names this very process in this epoch. Replicas are let in first, so that the
// first of them may attach at once; and it needs its quorum from its first write on.
func (a *Actor) promote(ctx context.Context, on *subject, action plan.Promote) error {
	claim, err := on.claimOf(action.Epoch, action.Node)
	if err != nil {
		return err
	}
	rules := a.replicationRules(on, claim.ReplicationGeneration)
	if err := a.onNode(ctx, action.Node, "promoting", func(ctx context.Context, n *redis.Node) error {
		if err := n.SetUser(ctx, credentials.ReplicationUser, rules...); err != nil {
			return err
		}
		if err := n.SetQuorum(ctx, claim.Quorum, seconds(action.MaxLag)); err != nil {
			return err
		}
		if err := n.PromoteToPrimary(ctx); err != nil {
			return err
		}
		return n.Unpause(ctx) // of a switchover away from it
	}); err != nil {
		return err
	}
	a.Nodes.NoteReplication(action.Node.UID, action.Node.RunID, claim.ReplicationGeneration)
	if heard, err := a.heard(on, action.Node); err != nil || heard.Redis.Role != state.RolePrimary {
		return notNow("%s does not yet say that it is the primary", action.Node)
	}
	return nil
}

func seconds(d time.Duration) int32 { return int32(d / time.Second) }

// openReplication lets replicas of the generation in on the primary.
func (a *Actor) openReplication(ctx context.Context, on *subject, action plan.OpenReplication) error {
	if _, err := on.claimOf(action.Epoch, action.Node); err != nil {
		return err
	}
	rules := a.replicationRules(on, action.Generation)
	if err := a.onNode(ctx, action.Node, "opening for replicas", func(ctx context.Context, n *redis.Node) error {
		return n.SetUser(ctx, credentials.ReplicationUser, rules...)
	}); err != nil {
		return err
	}
	a.Nodes.NoteReplication(action.Node.UID, action.Node.RunID, action.Generation)
	return nil
}

func (a *Actor) replicationRules(on *subject, generation int64) []string {
	return resources.ReplicationRules(resources.PasswordHash(a.Credentials.ReplicationPassword(on.snapshot.Want.UID, generation)))
}

// attach makes a node copy from the primary, if the claim still names that primary and has the node among the attached.
func (a *Actor) attach(ctx context.Context, on *subject, action plan.Attach) error {
	claim, err := on.claimOf(action.Epoch, action.Primary)
	if err != nil {
		return err
	}
	if claim.ReplicationGeneration != action.Generation || !hasAttached(claim, action.Node) {
		return notNow("the claim does not have %s among the attached", action.Node)
	}
	heard := a.Nodes.Observations(on.snapshot.Want.Key)[action.Primary.UID].Redis
	if heard.Role != state.RolePrimary || heard.ReplicationID != claim.ReplicationID && heard.ReplicationID2 != claim.ReplicationID {
		return notNow("%s is not the primary with the recorded history", action.Primary)
	}
	if err := a.onNode(ctx, action.Node, "attaching", func(ctx context.Context, n *redis.Node) error {
		// A replica must not be able to be copied from by its own former replicas: only a primary has this user on.
		if err := n.SetUser(ctx, credentials.ReplicationUser, resources.ReplicationOffRules()...); err != nil {
			return err
		}
		if err := a.setReplicationLogin(ctx, n, on, action.Generation); err != nil {
			return err
		}
		return n.ReplicaOf(ctx, action.PrimaryIP, action.PrimaryPort)
	}); err != nil {
		return err
	}
	a.Nodes.NoteReplication(action.Node.UID, action.Node.RunID, action.Generation)
	return nil
}

func (a *Actor) setReplicationLogin(ctx context.Context, n *redis.Node, on *subject, generation int64) error {
	return n.SetReplicationLogin(ctx, credentials.ReplicationUser, a.Credentials.ReplicationPassword(on.snapshot.Want.UID, generation))
}

func hasAttached(claim *cachev1.Claim, node plan.Target) bool {
	for i := range claim.Attached {
		if claim.Attached[i].UID == node.UID {
			return true
		}
	}
	return false
}

// closeReplicas closes the links of replicas at the primary.
func (a *Actor) closeReplicas(ctx context.Context, action plan.CloseReplicas) error {
	return a.onNode(ctx, action.Node, "closing replicas at", func(ctx context.Context, n *redis.Node) error {
		_, err := n.KillReplicas(ctx, credentials.ReplicationUser, action.IPs)
		return err
	})
}

// closeClients closes the clients of a node that is no primary any more. However it ends, whether there are more is for the next
// look, a moment later; so it never asks for one now.
func (a *Actor) closeClients(ctx context.Context, on *subject, action plan.CloseClients) error {
	claim := on.resource.Status.Claim
	if _, err := a.heard(on, action.Node); err == nil && claim != nil && claim.Primary.UID != action.Node.UID {
		_ = a.onNode(ctx, action.Node, "closing clients of", func(ctx context.Context, n *redis.Node) error {
			_, err := n.KillClients(ctx)
			return err
		})
	}
	return errAlready
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

// Release lets the pods of a resource that is gone, or is going, end: a primary's pod waits for another to take over, and none will.
func (a *Actor) Release(ctx context.Context, left []state.Node) {
	for i := range left {
		if n := &left[i]; n.Pod.Terminating && n.Answers() && n.Redis.Role == state.RolePrimary {
			_ = a.freeze(ctx, plan.Freeze{Node: plan.TargetOf(n)}) // else the pod ends by itself, some seconds later
		}
	}
}
