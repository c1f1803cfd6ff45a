// Package generated tests that what is generated and committed is what the generators make of the code as it stands.
package generated

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const checkout = "../.."

func TestGeneratedFilesAreFresh(t *testing.T) {
	tests := map[string]struct {
		generator []string
		output    string
		committed string
	}{
		"deep copy functions": {
			generator: []string{"object", "paths=./api/..."},
			output:    "zz_generated.deepcopy.go",
			committed: "api/v1/zz_generated.deepcopy.go",
		},
		"CRD": {
			generator: []string{"crd", "paths=./api/..."},
			output:    "cache.example.com_redisclusters.yaml",
			committed: "config/crd/bases/cache.example.com_redisclusters.yaml",
		},
		"the operator's role": {
			generator: []string{"rbac:roleName=redis-operator", "paths=./internal/...", "paths=./cmd/..."},
			output:    "role.yaml",
			committed: "config/rbac/role.yaml",
		},
	}
	controllerGen := os.Getenv("CONTROLLER_GEN")
	if controllerGen == "" {
		t.Fatal("CONTROLLER_GEN must name the program that generates: run make test-unit, which builds the right version of it")
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			command := exec.CommandContext(t.Context(), controllerGen, append(tc.generator, "output:dir="+dir)...)
			command.Dir = checkout
			said, err := command.CombinedOutput()
			require.NoErrorf(t, err, "%s", said)
			fresh, err := os.ReadFile(filepath.Join(dir, tc.output))
			require.NoError(t, err)
			committed, err := os.ReadFile(filepath.Join(checkout, tc.committed))
			require.NoError(t, err)
			assert.Equal(t, string(fresh), string(committed), "%s is not what the code says: run make generate manifests", tc.committed)
		})
	}
}
