package generated

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDirectDependenciesHaveAReason(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	command.Dir = checkout
	output, err := command.Output()
	require.NoError(t, err)
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	require.NoError(t, json.Unmarshal(output, &mod))
	reasons, err := os.ReadFile(filepath.Join(checkout, "docs", "design", "dependencies.md"))
	require.NoError(t, err)
	for _, module := range mod.Require {
		if !module.Indirect {
			assert.Truef(t, bytes.Contains(reasons, []byte("`"+module.Path+"`")), "docs/design/dependencies.md must say what %s is for", module.Path)
		}
	}
}
