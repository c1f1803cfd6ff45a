package act

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
)

// +kubebuilder:rbac:groups=cache.example.com,resources=redisclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=redisclusters/status,verbs=patch

// writeClaim records a new primary. The optimistic lock is what makes two operators safe: of two that read the same claim, one
// write succeeds and the other must look again.
func (a *Actor) writeClaim(ctx context.Context, on *subject, action plan.WriteClaim) error {
	if !equality.Semantic.DeepEqual(on.resource.Status.Claim, action.Old) {
		return notNow("the claim is not the one that the decision read")
	}
	if err := a.patchClaim(ctx, on, &action.New); err != nil {
		return err
	}
	if action.Old == nil {
		a.Credentials.TookOver(on.snapshot.Want.UID, action.New.OperatorGeneration)
	}
	return nil
}

// recordHistory reads the replication id that the primary has now, and writes it into the claim.
func (a *Actor) recordHistory(ctx context.Context, on *subject, action plan.RecordHistory) error {
	claim := on.resource.Status.Claim
	if claim == nil || claim.Epoch != action.Epoch || claim.Primary.UID != action.Node.UID {
		return notNow("the claim is not about %s in epoch %d any more", action.Node, action.Epoch)
	}
	heard, ok := a.Nodes.Observations(on.snapshot.Want.Key)[action.Node.UID]
	if !ok || heard.Redis.RunID != action.Node.RunID || heard.Redis.ReplicationID == "" {
		return notNow("%s does not tell its replication id", action.Node)
	}
	if claim.ReplicationID == heard.Redis.ReplicationID {
		return errAlready
	}
	next := *claim
	next.ReplicationID = heard.Redis.ReplicationID
	return a.patchClaim(ctx, on, &next)
}

// patchClaim writes the claim if the resource still has the version that was read; the result is what later steps go on from.
func (a *Actor) patchClaim(ctx context.Context, on *subject, claim *cachev1.Claim) error {
	base := on.resource
	next := base.DeepCopy()
	next.Status.Claim = claim
	err := a.Writer.Status().Patch(ctx, next, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}), client.FieldOwner(fieldManager))
	if err != nil {
		return fmt.Errorf("recording epoch %d for %s: %w", claim.Epoch, claim.Primary.Name, err)
	}
	on.resource = next
	a.Written.Wrote("RedisCluster", next)
	return nil
}

// +kubebuilder:rbac:groups=cache.example.com,resources=redisclusters,verbs=patch

// forgetSwitchover removes the annotation by which a person asked for another primary, if it still has that value.
func (a *Actor) forgetSwitchover(ctx context.Context, on *subject, action plan.ForgetSwitchover) error {
	if on.resource.Annotations[cachev1.AnnotationSwitchover] != action.Wanted {
		return errAlready
	}
	next := on.resource.DeepCopy()
	delete(next.Annotations, cachev1.AnnotationSwitchover)
	patch := client.MergeFromWithOptions(on.resource, client.MergeFromWithOptimisticLock{})
	if err := a.Writer.Patch(ctx, next, patch, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("removing the annotation %s: %w", cachev1.AnnotationSwitchover, err)
	}
	on.resource = next
	a.Written.Wrote("RedisCluster", next)
	return nil
}
