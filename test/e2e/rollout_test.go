//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	cachev1 "example.com/redis-operator/api/v1"
)

// TestRollout changes what needs new pods, while a client writes: the status says Running again only when all pods are new,
// and nothing that a replica confirmed is lost.
func TestRollout(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.started(p.redis("r", 2))
	service := p.service("r", "")
	w := p.newWriter(service, "key")
	w.awaitMore(20)
	for _, change := range []func(r *cachev1.RedisCluster){
		func(r *cachev1.RedisCluster) { r.Spec.Config = map[string]cachev1.ConfigValue{"maxclients": "500"} },
		func(r *cachev1.RedisCluster) { r.Spec.PodTemplate.Labels = map[string]string{"users": "label"} },
	} {
		before := p.processes("r")
		p.change("r", change)
		p.awaitRunning("r")
		for name := range p.processes("r") {
			require.NotContains(t, before, name, "the status says Running, about the newest generation, and the pod is an old one")
		}
	}
	r := p.get("r")
	w.awaitMore(20)
	writes := w.stop()
	t.Logf("%d writes, %d confirmed, the longest gap was %s", len(writes), len(w.confirmed()), longestGap(writes))
	for _, pod := range r.Status.Nodes {
		w.mustBeOn(p.node(pod, ""))
		p.answers(p.node(pod, ""), "maxclients\n500", "CONFIG", "GET", "maxclients")
		require.Equal(t, "label", p.pod(pod).Labels["users"])
	}
}
