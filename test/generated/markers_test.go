package generated

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// controller-gen overlooks a marker that is part of a function's or variable's own comment: the right would be missing from
// the role, and nothing would say so before the operator is refused on a cluster.
func TestRBACMarkersAreSeen(t *testing.T) {
	var unseen []string
	require.NoError(t, filepath.WalkDir(filepath.Join(checkout, "internal"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			for _, line := range docOf(declaration) {
				if strings.HasPrefix(line.Text, "// +kubebuilder:rbac") {
					unseen = append(unseen, positions.Position(line.Pos()).String())
				}
			}
		}
		return nil
	}))
	assert.Empty(t, unseen, "write these markers above the comment of what follows, with an empty line between")
}

func docOf(declaration ast.Decl) []*ast.Comment {
	var doc *ast.CommentGroup
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		doc = d.Doc
	case *ast.GenDecl:
		doc = d.Doc
	}
	if doc == nil {
		return nil
	}
	return doc.List
}
