package tree

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The root of the core stays small: lines, exported names, and methods of one type.
func TestRootOfTheCore(t *testing.T) {
	t.Chdir(top)
	files, err := filepath.Glob("core/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("core has %d files, %v", len(files), err)
	}
	lines, exported, methods := 0, 0, map[string]int{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			for _, id := range declared(d) {
				if id.IsExported() {
					exported++
				}
			}
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				of := f.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				methods[of.(*ast.Ident).Name]++
			}
		}
	}
	if lines > 4000 || exported > 60 {
		t.Errorf("core has %d lines, and %d exported names; at most 4,000 and 60", lines, exported)
	}
	for name, n := range methods {
		if n > 40 {
			t.Errorf("core.%s has %d methods; at most 40", name, n)
		}
	}
}

// declared returns the names that a declaration gives to its package.
func declared(d ast.Decl) (names []*ast.Ident) {
	if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
		return []*ast.Ident{f.Name}
	} else if ok {
		return nil
	}
	for _, s := range d.(*ast.GenDecl).Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name)
		case *ast.ValueSpec:
			names = append(names, s.Names...)
		}
	}
	return names
}
