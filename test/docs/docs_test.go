// Package docs tests that the documents for users name all that there is: every field of the API, and every rule by which the
// operator waits.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const checkout = "../.."

// Fields whose own fields are Kubernetes' and are described there.
var ofKubernetes = []string{
	"spec.resources",
	"spec.podTemplate.affinity",
	"spec.podTemplate.tolerations",
	"spec.podTemplate.topologySpreadConstraints",
	"spec.podTemplate.imagePullSecrets",
	"status.conditions",
}

func TestReferenceNamesEveryField(t *testing.T) {
	known := fieldsOfCRD(t)
	described := slices.Compact(slices.Sorted(slices.Values(rowsOf(t, "docs/reference.md", regexp.MustCompile("(?m)^\\| `((?:spec|status)\\.[^`]+)` \\|")))))
	assert.Equal(t, known, described, "docs/reference.md has one row a field, and begins it with the field's path: | `spec.size` |")
}

func TestWaitingExplainsEveryRule(t *testing.T) {
	rules := rulesThatBlock(t)
	require.NotEmpty(t, rules)
	explained := slices.Sorted(slices.Values(rowsOf(t, "docs/waiting.md", regexp.MustCompile(`(?m)^## ([A-Z][A-Za-z]+)$`))))
	assert.Equal(t, rules, explained, "docs/waiting.md has one section a rule that internal/decide passes to Plan.Block: ## SecretMissing")
}

// rowsOf finds what a pattern's group matches in a document.
func rowsOf(t *testing.T, file string, pattern *regexp.Regexp) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(checkout, file))
	require.NoError(t, err)
	var found []string
	for _, match := range pattern.FindAllStringSubmatch(string(content), -1) {
		found = append(found, match[1])
	}
	return found
}

// fieldsOfCRD lists the paths of all fields below spec and status, sorted.
func fieldsOfCRD(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(checkout, "config/crd/bases/cache.example.com_redisclusters.yaml"))
	require.NoError(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.UnmarshalStrict(content, &crd))
	require.Len(t, crd.Spec.Versions, 1)
	var paths []string
	for name, field := range crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties {
		if name == "spec" || name == "status" {
			paths = append(paths, fieldsBelow(name, field)...)
		}
	}
	slices.Sort(paths)
	return paths
}

func fieldsBelow(path string, field apiextensionsv1.JSONSchemaProps) []string {
	if slices.Contains(ofKubernetes, path) {
		return nil
	}
	properties := field.Properties
	if field.Items != nil && field.Items.Schema != nil {
		properties = field.Items.Schema.Properties
	}
	var paths []string
	for name, property := range properties {
		paths = append(paths, path+"."+name)
		paths = append(paths, fieldsBelow(path+"."+name, property)...)
	}
	return paths
}

// rulesThatBlock lists the values of the constants that internal/decide passes to Plan.Block, sorted.
func rulesThatBlock(t *testing.T) []string {
	t.Helper()
	values := stringConstants(t, "api/v1")
	var rules []string
	for _, file := range parse(t, "internal/decide") {
		ast.Inspect(file, func(node ast.Node) bool {
			call, isCall := node.(*ast.CallExpr)
			if !isCall || !isSelector(call.Fun, "Block") {
				return true
			}
			rule, isConstant := call.Args[0].(*ast.SelectorExpr)
			if assert.True(t, isConstant, "the rule given to Plan.Block is not a constant of the API package") {
				rules = append(rules, values[rule.Sel.Name])
			}
			return true
		})
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

func isSelector(e ast.Expr, name string) bool {
	selector, ok := e.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == name
}

func stringConstants(t *testing.T, dir string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, file := range parse(t, dir) {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, isValue := node.(*ast.ValueSpec)
			if !isValue || len(spec.Names) != 1 || len(spec.Values) != 1 {
				return true
			}
			if literal, isLiteral := spec.Values[0].(*ast.BasicLit); isLiteral && literal.Kind == token.STRING {
				value, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				values[spec.Names[0].Name] = value
			}
			return true
		})
	}
	return values
}

// parse reads the Go files of a folder, without its tests.
func parse(t *testing.T, dir string) []*ast.File {
	t.Helper()
	names, err := fs.Glob(os.DirFS(filepath.Join(checkout, dir)), "*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(checkout, dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	return files
}
