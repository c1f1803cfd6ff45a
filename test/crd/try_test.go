//go:build integration

package crd

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"example.com/redis-operator/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m) }

// attempt is a resource that somebody tries to create.
type attempt struct {
	// name is my-redis if empty.
	name string
	// spec in YAML; the image is filled in if it has none.
	spec string
	// refused has all that the API server says, as "field: message"; empty where it accepts.
	refused []string
}

// kubectl sets FieldValidation by default.
var asKubectl = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}

// try creates each resource by dry run.
func try(t *testing.T, attempts map[string]attempt) {
	t.Helper()
	resources := redisClusters(t)
	for name, a := range attempts {
		t.Run(name, func(t *testing.T) {
			_, err := resources.Create(t.Context(), a.resource(t), asKubectl)
			assert.Equal(t, a.refused, said(err))
		})
	}
}

func redisClusters(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(apiserver.Start(t))
	require.NoError(t, err)
	resource := schema.GroupVersionResource{Group: "cache.example.com", Version: "v1", Resource: "redisclusters"}
	return client.Resource(resource).Namespace(metav1.NamespaceDefault)
}

func (a attempt) resource(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	spec := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(a.spec), &spec))
	if _, given := spec["image"]; !given {
		spec["image"] = "redis:7.0"
	}
	if a.name == "" {
		a.name = "my-redis"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1",
		"kind":       "RedisCluster",
		"metadata":   map[string]any{"name": a.name},
		"spec":       spec,
	}}
}

// said is what kubectl shows of a refusal, one entry a complaint; nil where there is none.
func said(err error) []string {
	if err == nil {
		return nil
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return []string{err.Error()}
	}
	var said []string
	var causes []metav1.StatusCause
	if status.ErrStatus.Details != nil {
		causes = status.ErrStatus.Details.Causes
	}
	for _, cause := range causes {
		// Kubernetes adds this where a field is so wrong that it did not try the rules; it says nothing about the field.
		if !strings.Contains(cause.Message, "some validation rules were not checked") {
			said = append(said, cause.Field+": "+cause.Message)
		}
	}
	if said == nil {
		return []string{status.ErrStatus.Message}
	}
	return said
}
