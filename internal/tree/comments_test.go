package tree

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Every exported name has a comment: constants and variables together, or each of its own.
func TestExportedNamesHaveComments(t *testing.T) {
	t.Chdir(top)
	files, n := token.NewFileSet(), 0
	bare := func(pos token.Pos, name *ast.Ident, comments ...*ast.CommentGroup) {
		if !name.IsExported() {
			return
		}
		n++
		for _, c := range comments {
			if c != nil {
				return
			}
		}
		t.Errorf("%s: %s has no comment", files.Position(pos), name)
	}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			return err
		}
		f, err := parser.ParseFile(files, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(f) {
			return err
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || ast.IsExported(receiver(d)) {
					bare(d.Pos(), d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						bare(s.Pos(), s.Name, d.Doc, s.Doc, s.Comment)
					case *ast.ValueSpec:
						bare(s.Pos(), s.Names[0], d.Doc, s.Doc, s.Comment)
					}
				}
			}
		}
		return nil
	})
	if err != nil || n < 1000 {
		t.Fatalf("%d exported names were found, %v; want at least 1000", n, err)
	}
}
