package generated

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// A new right needs an argument, and nobody means a wildcard.
func TestRoleIsArgued(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(checkout, "config", "rbac", "role.yaml"))
	require.NoError(t, err)
	var role rbacv1.ClusterRole
	require.NoError(t, yaml.UnmarshalStrict(content, &role))
	arguments, err := os.ReadFile(filepath.Join(checkout, "docs", "design", "rbac.md"))
	require.NoError(t, err)
	require.NotEmpty(t, role.Rules)
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			assert.Containsf(t, string(arguments), "`"+resource+"`", "docs/design/rbac.md must say why the operator needs %s", resource)
		}
		for _, part := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
			assert.NotContains(t, part, "*")
		}
	}
}
