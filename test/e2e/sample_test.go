//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	sample         = "../../config/samples/cache_v1_rediscluster.yaml"
	samplePassword = "change-me"
)

// TestSampleByKubectl is what a new user does: apply the sample, look, scale, delete pods, delete it.
func TestSampleByKubectl(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	before := p.inventory(t.Context())
	kubectl(t, p.name, "apply", "-f", sample)
	runningBySize(t, p, 3)
	// The kubelet puts gate and probe together at its next look at a pod, which may come after our status.
	kubectl(t, p.name, "wait", "deployment", "my-redis", "--for", "jsonpath={.status.readyReplicas}=3", "--timeout", "20s")
	require.Equal(t, "ClusterIP 6379 TCP", kubectl(t, p.name, "get", "service", "my-redis", "-o", "jsonpath={.spec.type} {.spec.ports[0].port} {.spec.ports[0].protocol}"))
	fields := strings.Fields(kubectl(t, p.name, "get", "rediscluster", "my-redis", "--no-headers"))
	require.GreaterOrEqual(t, len(fields), 5)
	require.Equal(t, []string{"my-redis", "Running", "3", "3"}, fields[:4])

	p.answers(p.service("my-redis", samplePassword), "OK", "SET", "k", "v")
	for _, size := range []int{5, 2} {
		kubectl(t, p.name, "patch", "rediscluster", "my-redis", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"size":%d}}`, size))
		runningBySize(t, p, size)
		p.answers(p.service("my-redis", samplePassword), "v", "GET", "k")
	}
	for _, role := range []string{"replica", "primary"} {
		pod := kubectl(t, p.name, "get", "pod", "-l", "cache.example.com/role="+role, "-o", "jsonpath={.items[0].metadata.name}")
		kubectl(t, p.name, "delete", "pod", pod)
		require.NotContains(t, runningBySize(t, p, 2), pod)
		p.answers(p.service("my-redis", samplePassword), "v", "GET", "k")
	}

	kubectl(t, p.name, "delete", "rediscluster", "my-redis")
	// Pods are the last to go; asking for every kind takes seconds on a busy machine.
	require.NoError(t, poll(t.Context(), 20*time.Second, func(context.Context) error {
		if left := strings.Fields(kubectl(t, p.name, "get", "pods", "-l", "app.kubernetes.io/instance=my-redis", "-o", "name")); len(left) > 0 {
			return fmt.Errorf("left are %v", left)
		}
		return nil
	}), "no pod of the resource is left")
	require.NoError(t, poll(t.Context(), 20*time.Second, func(context.Context) error {
		if left := slices.DeleteFunc(p.inventory(t.Context()), func(o string) bool {
			return slices.Contains(before, o) || o == "ConfigMap kube-root-ca.crt" || o == "ServiceAccount default" // a namespace's own come late
		}); len(left) > 0 {
			return fmt.Errorf("left are %v", left)
		}
		return nil
	}), "nothing of the resource is left")
}

// runningBySize waits, by kubectl alone, until the resource is Running with so many nodes, and returns their names.
func runningBySize(t *testing.T, p *place, size int) []string {
	t.Helper()
	var nodes []string
	await(t, fmt.Sprintf("my-redis runs with %d nodes", size), settling, func(context.Context) error {
		status := kubectl(t, p.name, "get", "rediscluster", "my-redis", "-o", "jsonpath={.status.phase} {.status.readyReplicas} {.status.nodes[*]}")
		fields := strings.Fields(status)
		pods := strings.Fields(kubectl(t, p.name, "get", "pods", "-l", "app.kubernetes.io/instance=my-redis", "-o", "jsonpath={.items[*].metadata.name}"))
		slices.Sort(pods)
		if len(fields) < 2 || fields[0] != "Running" || fields[1] != fmt.Sprint(size) || len(pods) != size || !slices.Equal(fields[2:], pods) {
			return fmt.Errorf("status %q, pods %v", status, pods)
		}
		nodes = pods
		return nil
	})
	return nodes
}

// inventory names all objects of the namespace, but for events.
func (p *place) inventory(ctx context.Context) []string {
	p.t.Helper()
	all, err := kube.everything(ctx, p.name)
	require.NoError(p.t, err)
	var names []string
	for _, o := range all {
		if o.GetKind() != "Event" {
			names = append(names, o.GetKind()+" "+o.GetName())
		}
	}
	return names
}
