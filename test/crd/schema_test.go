package crd

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Fields that hold types of Kubernetes: the field itself is described by us, what is below it by Kubernetes.
var ofKubernetes = map[string]bool{
	"spec.resources":                             true,
	"spec.podTemplate.affinity":                  true,
	"spec.podTemplate.tolerations":               true,
	"spec.podTemplate.topologySpreadConstraints": true,
	"spec.podTemplate.imagePullSecrets":          true,
	"status.conditions":                          true,
}

// kubectl explain is the first manual that anybody opens.
func TestEveryFieldIsDescribed(t *testing.T) {
	root := crdSchema(t)
	for _, name := range []string{"spec", "status"} {
		field := root.Properties[name]
		walk(name, field, func(path string, field apiextensionsv1.JSONSchemaProps) {
			name := path[strings.LastIndex(path, ".")+1:]
			assert.Truef(t, strings.HasPrefix(field.Description, name+" "),
				"%s: its comment in api/v1 must say what it is and begin with %q; it is %q", path, name, field.Description)
		})
	}
}

// Where a field takes a range or a default, its description says so, since kubectl explain shows no rules.
func TestDefaultsAreDescribed(t *testing.T) {
	walk("spec", crdSchema(t).Properties["spec"], func(path string, field apiextensionsv1.JSONSchemaProps) {
		if field.Default != nil && string(field.Default.Raw) != "{}" {
			assert.Containsf(t, field.Description, "Default", "%s: its comment in api/v1 must name its default, %s", path, field.Default.Raw)
		}
	})
}

func walk(path string, field apiextensionsv1.JSONSchemaProps, visit func(string, apiextensionsv1.JSONSchemaProps)) {
	visit(path, field)
	if ofKubernetes[path] {
		return
	}
	properties := field.Properties
	if field.Items != nil && field.Items.Schema != nil {
		properties = field.Items.Schema.Properties
	}
	for name, property := range properties {
		walk(path+"."+name, property, visit)
	}
}

func crdSchema(t *testing.T) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	content, err := os.ReadFile("../../config/crd/bases/cache.example.com_redisclusters.yaml")
	require.NoError(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.UnmarshalStrict(content, &crd))
	require.Len(t, crd.Spec.Versions, 1)
	return *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}
