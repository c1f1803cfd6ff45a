package act

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// WriteStatus writes the status if it differs. The claim is no part of it: it stays what it is.
func (a *Actor) WriteStatus(ctx context.Context, resource *cachev1.RedisCluster, status cachev1.RedisClusterStatus) error {
	status.Claim = resource.Status.Claim
	if equality.Semantic.DeepEqual(resource.Status, status) {
		return nil
	}
	next := resource.DeepCopy()
	next.Status = status
	if err := a.Writer.Status().Patch(ctx, next, client.MergeFrom(resource), client.FieldOwner(fieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("writing the status: %w", err))
	}
	a.Written.Wrote("RedisCluster", next)
	return nil
}
