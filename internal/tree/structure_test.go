package tree

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"parley/internal/require"
	"path/filepath"
	"strings"
	"testing"
)

// No type has more than 40 methods, so that each has one subject. Fakes and test suites are as large as what they stand for.
func TestMethodsOfTypes(t *testing.T) {
	t.Chdir(top)
	methods := map[string]int{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		dir := filepath.Base(filepath.Dir(name))
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.HasSuffix(dir, "fake") || strings.HasSuffix(dir, "test") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[filepath.Dir(name)+"."+receiver(f)]++
			}
		}
		return nil
	})
	if err != nil || len(methods) < 100 {
		t.Fatalf("%d types have methods, %v; want at least 100", len(methods), err)
	}
	for name, n := range methods {
		if n > 40 {
			t.Errorf("%s has %d methods; at most 40", name, n)
		}
	}
}

// receiver returns the name of the type whose method f is.
func receiver(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	for {
		switch x := of.(type) {
		case *ast.StarExpr:
			of = x.X
		case *ast.IndexExpr: // a type parameter
			of = x.X
		case *ast.IndexListExpr:
			of = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// The root of the core stays small: lines and exported names.
func TestRootOfTheCore(t *testing.T) {
	t.Chdir(top)
	files, err := filepath.Glob("core/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("core has %d files, %v", len(files), err)
	}
	lines, exported := 0, 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text := require.Value(os.ReadFile(name))(t)
		lines += bytes.Count(text, []byte("\n"))
		f := require.Value(parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution))(t)
		for _, d := range f.Decls {
			for _, id := range declared(d) {
				if id.IsExported() {
					exported++
				}
			}
		}
	}
	if lines > 800 || exported > 40 {
		t.Errorf("core has %d lines, and %d exported names; at most 800 and 40", lines, exported)
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

// A name of another package is read with the name of that package: no file imports with a dot.
func TestNoDotImports(t *testing.T) {
	t.Chdir(top)
	eachFile(t, func(name string, file *ast.File, _ *token.FileSet) {
		for _, i := range file.Imports {
			if i.Name != nil && i.Name.Name == "." {
				t.Errorf("%s imports %s with a dot", name, i.Path.Value)
			}
		}
	})
}
