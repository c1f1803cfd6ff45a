package act

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"

	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/resources"
)

// takeOver records that this operator is the one that changes roles from now on. Of two that try, one succeeds.
func (a *Actor) takeOver(ctx context.Context, on *subject, action plan.TakeOver) error {
	if !equality.Semantic.DeepEqual(on.resource.Status.Claim, action.Old) {
		return notNow("the claim is not the one that the decision read")
	}
	next := action.Old.DeepCopy()
	next.OperatorGeneration = action.Generation
	if err := a.patchClaim(ctx, on, next); err != nil {
		return err
	}
	a.Credentials.TookOver(on.snapshot.Want.UID, action.Generation)
	return nil
}

// setOperatorPassword locks every other operator out of a node: by the password, and by closing the connections that are open.
func (a *Actor) setOperatorPassword(ctx context.Context, on *subject, action plan.SetOperatorPassword) error {
	claim := on.resource.Status.Claim
	if claim == nil || claim.OperatorGeneration != action.Generation {
		return notNow("the generation of the operator's password is not %d any more", action.Generation)
	}
	hash := resources.PasswordHash(a.Credentials.OperatorPassword(on.snapshot.Want.UID, action.Generation))
	if err := a.onNode(ctx, action.Node, "changing the operator's password of", func(ctx context.Context, n *redis.Node) error {
		if err := n.SetUser(ctx, credentials.OperatorUser, resources.OperatorRules(hash)...); err != nil {
			return err
		}
		return n.KillOthers(ctx, credentials.OperatorUser)
	}); err != nil {
		return err
	}
	a.Nodes.NoteOperatorGeneration(action.Node.UID, action.Node.RunID, action.Generation)
	// What this operator set there before, another one may have set anew until now.
	a.Nodes.NoteReplication(action.Node.UID, action.Node.RunID, 0)
	a.Nodes.NoteAccess(action.Node.UID, action.Node.RunID, "")
	return nil
}
