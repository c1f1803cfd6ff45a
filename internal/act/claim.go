package act

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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
	next.Status.Claim = claim.DeepCopy()
	err := a.Writer.Status().Patch(ctx, next, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}), client.FieldOwner(fieldManager))
	a.doubts.note(base, claim, err)
	if err != nil {
		return fmt.Errorf("recording epoch %d for %s: %w", claim.Epoch, claim.Primary.Name, err)
	}
	on.resource = next
	a.Written.Wrote("RedisCluster", next)
	return nil
}

// doubts has, by resource, the claim of which it is not known whether it was written, or will be: the API server did not answer.
//
// Until that is known nothing may be done that the claim would contradict: the primary that it replaces would take writes which the
// new one does not have; the primary would need fewer replicas than the claim says. To write it again settles it: that succeeds, or
// finds another version of the resource; the first write finds another one then too. What that version says is then still to be
// read: nothing is done by one that is known to be outdated either.
type doubts struct {
	mu     sync.Mutex
	claims map[types.UID]doubt
}

// doubt is a claim that was to be written over that version of the resource; without one, the version is known to be outdated.
type doubt struct {
	version string
	claim   *cachev1.Claim
}

// note takes note of how a write of a claim ended.
func (d *doubts) note(base *cachev1.RedisCluster, claim *cachev1.Claim, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.claims == nil {
		d.claims = map[types.UID]doubt{}
	}
	switch {
	case apierrors.IsConflict(err):
		d.claims[base.UID] = doubt{version: base.ResourceVersion}
	case err == nil || refused(err):
		delete(d.claims, base.UID)
	default:
		d.claims[base.UID] = doubt{base.ResourceVersion, claim.DeepCopy()}
	}
}

// refused tells whether the API server said that it did not do what it was asked for. A proxy before it, or the server itself, may
// also say that it did not wait for the end.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsInternalError(err) && !apierrors.IsUnexpectedServerError(err)
}

// about tells whether there is a doubt about this version of the resource. One about another version is settled by that.
func (d *doubts) about(resource *cachev1.RedisCluster) (found doubt, is bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if found, is = d.claims[resource.UID]; is && found.version == resource.ResourceVersion {
		return found, true
	}
	delete(d.claims, resource.UID)
	return doubt{}, false
}

// settle writes a claim in doubt once more. What was planned then was planned without knowing of it.
func (a *Actor) settle(ctx context.Context, on *subject) error {
	doubt, is := a.doubts.about(on.resource)
	switch {
	case !is:
		return nil
	case doubt.claim == nil:
		return notNow("there is a newer version of the resource than the one that was read")
	}
	if err := a.patchClaim(ctx, on, doubt.claim); err != nil {
		return err
	}
	return notNow("epoch %d, of which it was not known whether it is on record, now is", doubt.claim.Epoch)
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
