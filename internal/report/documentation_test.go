package report_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whoever reads a reason in a condition finds it in docs/conditions.md, and no reason there that does not exist.
func TestEveryReasonIsExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/conditions.md")
	require.NoError(t, err)
	explained := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| ").FindAllStringSubmatch(string(text), -1) {
		explained[row[1]] = true
	}
	known := map[string]bool{}
	for name, value := range constants(t, "../../api/v1/conditions.go") {
		if strings.HasPrefix(name, "Reason") || strings.HasPrefix(name, "Condition") {
			known[value] = true
			assert.True(t, explained[value], "docs/conditions.md lacks a row: | `%s` | when | what to do |", value)
		}
	}
	for word := range explained {
		assert.True(t, known[word], "docs/conditions.md explains %s, which api/v1/conditions.go does not have", word)
	}
}

// constants are the string constants of a Go file.
func constants(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	found := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				value, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				found[spec.Names[0].Name] = value
			}
		}
		return true
	})
	require.NotEmpty(t, found)
	return found
}
