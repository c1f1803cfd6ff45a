//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1 "example.com/redis-operator/api/v1"
)

// TestCannotRun: a resource that cannot run says which pod and why, and recovers when it is mended.
func TestCannotRun(t *testing.T) {
	t.Parallel()
	for _, trouble := range []struct {
		name   string
		reason string
		words  []string
		make   func(r *cachev1.RedisCluster)
		mend   func(r *cachev1.RedisCluster)
	}{
		{
			"no such image", cachev1.ReasonPodCannotStart, []string{"pod r-", "redis:no-such-tag", "pull"},
			func(r *cachev1.RedisCluster) { r.Spec.Image = "redis:no-such-tag" },
			func(r *cachev1.RedisCluster) { r.Spec.Image = image },
		},
		{
			"no such node", cachev1.ReasonPodUnschedulable, []string{"pod r-", "node"},
			func(r *cachev1.RedisCluster) { r.Spec.PodTemplate.NodeSelector = map[string]string{"e2e": "nowhere"} },
			func(r *cachev1.RedisCluster) { r.Spec.PodTemplate.NodeSelector = nil },
		},
		{
			"a setting that Redis refuses", cachev1.ReasonPodCrashing, []string{"pod r-", "--previous"},
			func(r *cachev1.RedisCluster) {
				r.Spec.Config = map[string]cachev1.ConfigValue{"maxmemory-policy": "nonsense"}
			},
			func(r *cachev1.RedisCluster) { r.Spec.Config = nil },
		},
	} {
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			r := p.redis("r", 2)
			trouble.make(r)
			p.create(r)
			r = p.awaitStatus("r", "degraded", degradedBy(trouble.reason, trouble.words...))
			require.Contains(t, []cachev1.Phase{cachev1.PhaseDegraded, cachev1.PhasePending}, r.Status.Phase)
			p.change("r", trouble.mend)
			p.awaitRunning("r")

			// The same trouble, brought to a resource that runs: it goes on serving, and the way back is the old spec.
			service := p.service("r", "")
			p.answers(service, "OK", "SET", "k", "v")
			processes := p.processes("r")
			p.change("r", trouble.make)
			p.awaitStatus("r", "degraded", degradedBy(trouble.reason, trouble.words...))
			p.answers(service, "OK", "SET", "k2", "v")
			p.change("r", trouble.mend)
			p.awaitRunning("r")
			p.answers(service, "v", "GET", "k")
			require.Equal(t, processes, p.processes("r"), "the pods that ran before the trouble stay")
		})
	}
}

// TestPodsRefused: a quota that allows no pod is told, and when it goes, the pods come.
func TestPodsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	quota := &corev1.ResourceQuota{ObjectMeta: at(p.name, "none"), Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
	}}
	p.create(quota)
	await(t, "the quota is in force", settling, func(ctx context.Context) error {
		if err := kube.Get(ctx, p.key("none"), quota); err != nil {
			return err
		}
		if len(quota.Status.Hard) == 0 {
			return fmt.Errorf("its status has no limit yet")
		}
		return nil
	})
	p.create(p.redis("r", 1))
	p.awaitStatus("r", "refused its pods", degradedBy(cachev1.ReasonPodsNotCreated, "quota"))
	p.delete(quota)
	p.awaitRunning("r")
}
