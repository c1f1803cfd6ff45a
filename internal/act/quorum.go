package act

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/redis"
)

// setQuorum sets what the primary needs to acknowledge; never less than what is on record.
func (a *Actor) setQuorum(ctx context.Context, on *subject, action plan.SetQuorum) error {
	claim, err := on.claimOf(action.Epoch, action.Node)
	if err != nil {
		return err
	}
	if action.Quorum < claim.Quorum {
		return notNow("the quorum on record is %d", claim.Quorum)
	}
	return a.onNode(ctx, action.Node, "setting the quorum of", func(ctx context.Context, n *redis.Node) error {
		return n.SetQuorum(ctx, action.Quorum, seconds(action.MaxLag))
	})
}

// recordQuorum writes the quorum into the claim. A higher one must be what the primary last said it needs.
func (a *Actor) recordQuorum(ctx context.Context, on *subject, action plan.RecordQuorum) error {
	claim := on.resource.Status.Claim
	switch {
	case claim == nil || claim.Epoch != action.Epoch:
		return notNow("the claim is not of epoch %d any more", action.Epoch)
	case claim.Quorum == action.Quorum:
		return errAlready
	case claim.Quorum < action.Quorum:
		heard, err := a.heard(on, plan.Target{Pod: claim.Primary.Name, UID: claim.Primary.UID, RunID: claim.RunID})
		if err != nil {
			return err
		}
		if heard.Redis.MinReplicas < action.Quorum {
			return notNow("%s acknowledges what %d replicas can confirm", claim.Primary.Name, heard.Redis.MinReplicas)
		}
	}
	next := claim.DeepCopy()
	next.Quorum = action.Quorum
	return a.patchClaim(ctx, on, next)
}

// recordAttached adds pods to the attached in the claim, or puts right what it says of them, before they are told to follow.
func (a *Actor) recordAttached(ctx context.Context, on *subject, action plan.RecordAttached) error {
	claim := on.resource.Status.Claim
	if claim == nil || claim.Epoch != action.Epoch {
		return notNow("the claim is not of epoch %d any more", action.Epoch)
	}
	next := claim.DeepCopy()
	for _, pod := range action.Pods {
		i := slices.IndexFunc(next.Attached, func(a cachev1.ClaimedPod) bool { return a.UID == pod.UID })
		if i < 0 {
			next.Attached = append(next.Attached, pod)
		} else {
			next.Attached[i] = pod
		}
	}
	if equality.Semantic.DeepEqual(claim, next) {
		return errAlready
	}
	return a.patchClaim(ctx, on, next)
}

// leave takes pods out of the record, in the order that keeps it true at every moment: they cannot log in any more; their links
// are closed; those that stay have all that the primary had by then; the record; the primary's quorum.
func (a *Actor) leave(ctx context.Context, on *subject, action plan.Leave) error {
	if !equality.Semantic.DeepEqual(on.resource.Status.Claim, action.Old) {
		return notNow("the claim is not the one that the decision read")
	}
	if action.New.ReplicationGeneration != action.Old.ReplicationGeneration {
		if err := a.lockOut(ctx, on, action); err != nil {
			return err
		}
	}
	if err := a.caughtUp(ctx, on, action); err != nil {
		return err
	}
	if err := a.patchClaim(ctx, on, &action.New); err != nil {
		return err
	}
	return a.onNode(ctx, action.Node, "setting the quorum of", func(ctx context.Context, n *redis.Node) error {
		return n.SetQuorum(ctx, action.New.Quorum, seconds(action.MaxLag))
	})
}

// lockOut changes the replication password on the primary and on those that stay, and closes the leavers' links: an open one
// survives the password.
func (a *Actor) lockOut(ctx context.Context, on *subject, action plan.Leave) error {
	generation := action.New.ReplicationGeneration
	rules := a.replicationRules(on, generation)
	// Where this ends half way, nobody knows which password is in force; it is then set anew.
	a.Nodes.NoteReplication(action.Node.UID, action.Node.RunID, 0)
	if err := a.onNode(ctx, action.Node, "changing the replication password of", func(ctx context.Context, n *redis.Node) error {
		return n.SetUser(ctx, credentials.ReplicationUser, rules...)
	}); err != nil {
		return err
	}
	a.Nodes.NoteReplication(action.Node.UID, action.Node.RunID, generation)
	for _, target := range action.Stay {
		a.Nodes.NoteReplication(target.UID, target.RunID, 0)
		if err := a.onNode(ctx, target, "changing the replication login of", func(ctx context.Context, n *redis.Node) error {
			return a.setReplicationLogin(ctx, n, on, generation)
		}); err != nil {
			return err
		}
		a.Nodes.NoteReplication(target.UID, target.RunID, generation)
	}
	return a.onNode(ctx, action.Node, "closing replicas at", func(ctx context.Context, n *redis.Node) error {
		left, err := n.KillReplicas(ctx, credentials.ReplicationUser, action.IPs)
		if err == nil && left > 0 {
			err = notNow("%d links of those that leave are still open at %s", left, action.Node)
		}
		return err
	})
}

// caughtUp tells whether those that stay have all that the primary has now.
func (a *Actor) caughtUp(ctx context.Context, on *subject, action plan.Leave) error {
	offset, err := a.offset(ctx, on, action.Node)
	if err != nil {
		return err
	}
	for _, target := range action.Stay {
		if err := a.reaches(ctx, on, target, offset); err != nil {
			return err
		}
	}
	return nil
}

// offset asks a node how far it is.
func (a *Actor) offset(ctx context.Context, on *subject, target plan.Target) (int64, error) {
	if err := a.onNode(ctx, target, "asking", func(context.Context, *redis.Node) error { return nil }); err != nil {
		return 0, err
	}
	heard, err := a.heard(on, target)
	return heard.Redis.Offset, err
}

// reaches asks a node until it has gone as far as that offset, for a limited time: an answer takes a fraction of a millisecond,
// and so does what is under way to it.
func (a *Actor) reaches(ctx context.Context, on *subject, target plan.Target, offset int64) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	for {
		at, err := a.offset(ctx, on, target)
		switch {
		case ctx.Err() != nil:
			return notNow("%s does not reach offset %d within %s", target, offset, catchUpTime)
		case err != nil:
			return err
		case at >= offset:
			return nil
		}
	}
}
