//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1 "example.com/redis-operator/api/v1"
)

// TestPaused: while paused the operator reports and changes nothing; afterwards it catches up.
func TestPaused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	before := p.started(p.redis("r", 2))
	p.answers(p.service("r", ""), "OK", "SET", "k", "v")
	p.change("r", func(r *cachev1.RedisCluster) {
		r.Spec.Paused, r.Spec.Size, r.Spec.Password = true, 3, "new"
	})
	isPaused := func(r *cachev1.RedisCluster) error {
		if c := meta.FindStatusCondition(r.Status.Conditions, cachev1.ConditionProgressing); c == nil || c.Reason != cachev1.ReasonPaused {
			return fmt.Errorf("not paused: %s", conditionText(r))
		}
		return nil
	}
	p.awaitStatus("r", "paused", isPaused)
	replica := p.replicasOf(before)[0]
	p.delete(p.pod(replica))
	r := p.awaitStatus("r", "paused, with another pod in the deleted one's place", func(r *cachev1.RedisCluster) error {
		if len(r.Status.Nodes) != 2 || slices.Contains(r.Status.Nodes, replica) {
			return fmt.Errorf("nodes %v", r.Status.Nodes)
		}
		return isPaused(r)
	})
	require.Equal(t, before.Status.Primary, r.Status.Primary)
	var d appsv1.Deployment
	require.NoError(t, kube.Get(t.Context(), p.key("r"), &d))
	require.Equal(t, int32(2), *d.Spec.Replicas)
	p.answers(p.service("r", ""), "v", "GET", "k")
	require.Empty(t, p.pod(p.replicasOf(r)[0]).Labels[cachev1.LabelRole], "nobody gives the new pod a role")

	p.change("r", func(r *cachev1.RedisCluster) { r.Spec.Paused = false })
	p.awaitRunning("r")
	p.awaitAnswer(p.service("r", "new"), "v", "GET", "k")
	p.refused(p.service("r", ""), "NOAUTH", "GET", "k")
}
