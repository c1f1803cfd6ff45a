//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKubectlVerbs: what kubectl offers for any good resource.
func TestKubectlVerbs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.started(p.redis("r", 1))
	kubectl(t, p.name, "scale", "rediscluster/r", "--replicas=2")
	p.awaitRunning("r")
	require.Equal(t, "2", kubectl(t, p.name, "get", "rediscluster/r", "-o", "jsonpath={.status.replicas}"))
	require.Contains(t, kubectl(t, p.name, "get", "rdc"), "Running")
	require.Contains(t, kubectl(t, p.name, "get", "all"), "rediscluster.cache.example.com/r ")
	// `rc` is also what kubectl calls replication controllers; the API has it for this resource all the same.
	require.Contains(t, kubectl(t, p.name, "api-resources", "--api-group=cache.example.com"), "rc,rdc")
	require.Regexp(t, `(?s)NAME +PHASE +SIZE +READY +PRIMARY +AGE.*r +Running +2 +2 +r-`, kubectl(t, p.name, "get", "rdc"))
	explained := kubectl(t, p.name, "explain", "rediscluster.spec.size")
	require.Regexp(t, `(?s)FIELD: size <integer>.*DESCRIPTION:.*number of Redis pods, 1 to 10`, explained)
	require.Contains(t, kubectl(t, p.name, "describe", "rediscluster", "r"), "Bootstrap")
}
