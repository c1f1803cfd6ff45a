//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

// TestNewReleaseRestartsNothing runs an operator that renders pods and configuration differently, as a new release may: the
// pods stay. What is new comes with the next change that the user makes.
func TestNewReleaseRestartsNothing(t *testing.T) {
	p := newPlace(t)
	p.started(p.redis("r", 2))
	p.answers(p.service("r", ""), "OK", "SET", "k", "v")
	processes := p.processes("r")
	program := builtOperator(t, map[string]string{
		"internal/resources/pod.go":       edited(t, "internal/resources/pod.go", "PeriodSeconds:    10,", "PeriodSeconds:    11,"),
		"internal/resources/redisconf.go": edited(t, "internal/resources/redisconf.go", `{"tcp-keepalive", "60"}`, `{"tcp-keepalive", "61"}`),
	})
	withoutOperator(t)
	operator := run(t, program, kubeconfigFor(t, kube.config, ""))
	operator.awaitWorking()
	await(t, "the new release has looked at the resource", settling, func(ctx context.Context) error {
		var m corev1.ConfigMap
		if err := kube.Get(ctx, p.key("r-config"), &m); err != nil {
			return err
		}
		if !strings.Contains(m.Data["redis.conf"], "tcp-keepalive 61") {
			return fmt.Errorf("the configuration is still the old one")
		}
		return nil
	})
	holds(t, "no pod restarts", quiet, func(context.Context) error {
		if now := p.processes("r"); fmt.Sprint(now) != fmt.Sprint(processes) {
			return fmt.Errorf("%v became %v", processes, now)
		}
		return nil
	})
	p.awaitRunning("r")
	for _, pod := range p.pods("r") {
		require.Equal(t, int32(10), pod.Spec.Containers[0].ReadinessProbe.PeriodSeconds)
	}

	p.change("r", func(r *cachev1.RedisCluster) { r.Spec.PodTemplate.Annotations = map[string]string{"users": "change"} })
	p.awaitRunning("r")
	for _, pod := range p.pods("r") {
		require.Equal(t, "change", pod.Annotations["users"])
		require.Equal(t, int32(11), pod.Spec.Containers[0].ReadinessProbe.PeriodSeconds)
		p.answers(p.node(pod.Name, ""), "tcp-keepalive\n61", "CONFIG", "GET", "tcp-keepalive")
	}
	p.answers(p.service("r", ""), "v", "GET", "k")
	operator.kill()
}

// edited is a file of this checkout with one thing changed.
func edited(t *testing.T, path, from, to string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", path))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), from), "%q in %s", from, path)
	return strings.Replace(string(text), from, to, 1)
}
