//go:build integration

package crd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"example.com/redis-operator/test/apiserver"
)

func TestDefaults(t *testing.T) {
	tests := map[string]struct{ spec, want string }{
		"only an image": {
			spec: `image: redis:7.0`,
			want: `
image: redis:7.0
size: 1
port: 6379
resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 500m, memory: 256Mi}}
failover: {timeoutSeconds: 5, policy: Safe}
`},
		"parts of what has defaults": {
			spec: `{image: redis:7.0, resources: {limits: {memory: 1Gi}}, failover: {timeoutSeconds: 9}, passwordSecret: {name: a}, service: {}}`,
			want: `
image: redis:7.0
size: 1
port: 6379
resources: {limits: {memory: 1Gi}}
failover: {timeoutSeconds: 9, policy: Safe}
passwordSecret: {name: a, key: password}
service: {type: ClusterIP}
`},
		"nothing is overwritten": {
			spec: `{image: redis:7.0, size: 3, port: 7000, resources: {}, failover: {timeoutSeconds: 4, policy: BestEffort}}`,
			want: `{image: redis:7.0, size: 3, port: 7000, resources: {}, failover: {timeoutSeconds: 4, policy: BestEffort}}`},
	}
	resources := redisClusters(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			created, err := resources.Create(t.Context(), attempt{spec: tc.spec}.resource(t), asKubectl)
			require.NoError(t, err)
			got, err := yaml.Marshal(created.Object["spec"])
			require.NoError(t, err)
			assert.YAMLEq(t, tc.want, string(got))
		})
	}
}

// The default of resources is written into the resource, so that a change of one value later keeps the others.
func TestAPatchMergesWithDefaults(t *testing.T) {
	resources := redisClusters(t)
	_, err := resources.Create(t.Context(), attempt{name: "patched", spec: `size: 1`}.resource(t), metav1.CreateOptions{})
	require.NoError(t, err)
	patch := []byte(`{"spec": {"resources": {"limits": {"memory": "1Gi", "cpu": null}}}}`)
	patched, err := resources.Patch(t.Context(), "patched", "application/merge-patch+json", patch, metav1.PatchOptions{})
	require.NoError(t, err)
	got, _, err := unstructured.NestedMap(patched.Object, "spec", "resources")
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}, "limits": map[string]any{"memory": "1Gi"},
	}, got)
}

// kubectl scale and autoscalers go through this subresource.
func TestScale(t *testing.T) {
	resources := redisClusters(t)
	_, err := resources.Create(t.Context(), attempt{name: "scaled", spec: `size: 2`}.resource(t), metav1.CreateOptions{})
	require.NoError(t, err)
	status := []byte(`{"status": {"replicas": 2, "readyReplicas": 1, "selector": "app.kubernetes.io/instance=scaled"}}`)
	_, err = resources.Patch(t.Context(), "scaled", "application/merge-patch+json", status, metav1.PatchOptions{}, "status")
	require.NoError(t, err)

	live, err := resources.Get(t.Context(), "scaled", metav1.GetOptions{}, "scale")
	require.NoError(t, err)
	var scale autoscalingv1.Scale
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &scale))
	assert.EqualValues(t, 2, scale.Spec.Replicas)
	assert.EqualValues(t, 2, scale.Status.Replicas)
	assert.Equal(t, "app.kubernetes.io/instance=scaled", scale.Status.Selector)

	require.NoError(t, unstructured.SetNestedField(live.Object, int64(5), "spec", "replicas"))
	_, err = resources.Update(t.Context(), live, metav1.UpdateOptions{}, "scale")
	require.NoError(t, err)
	scaled, err := resources.Get(t.Context(), "scaled", metav1.GetOptions{})
	require.NoError(t, err)
	size, _, err := unstructured.NestedInt64(scaled.Object, "spec", "size")
	require.NoError(t, err)
	assert.EqualValues(t, 5, size)

	live, err = resources.Get(t.Context(), "scaled", metav1.GetOptions{}, "scale")
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedField(live.Object, int64(11), "spec", "replicas"))
	_, err = resources.Update(t.Context(), live, metav1.UpdateOptions{}, "scale")
	assert.Equal(t, []string{
		`spec.size: Invalid value: 11: size: write a number from 1 to 10 (to run no Redis at all, delete the resource)`}, said(err))
}

func TestNamesForKubectl(t *testing.T) {
	client, err := kubernetes.NewForConfig(apiserver.Start(t))
	require.NoError(t, err)
	lists, err := discovery.ServerPreferredResources(client.Discovery())
	require.NoError(t, err)
	for _, list := range lists {
		for _, resource := range list.APIResources {
			if resource.Name == "redisclusters" {
				assert.Equal(t, []string{"rc", "rdc"}, resource.ShortNames)
				assert.Equal(t, []string{"all"}, resource.Categories)
				assert.True(t, resource.Namespaced)
				return
			}
		}
	}
	t.Error("the API server does not know redisclusters")
}
