package tree

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// corePackage is a package of the core without its tests.
type corePackage struct {
	dir   string
	fset  *token.FileSet
	files []*ast.File
}

// corePackages parses the packages of the core, without those that only tests use.
func corePackages(t *testing.T) (all []corePackage) {
	t.Helper()
	t.Chdir(top)
	err := filepath.WalkDir("core", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if strings.HasSuffix(dir, "test") || filepath.Base(dir) == "testdata" {
			return filepath.SkipDir
		}
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		p := corePackage{dir: dir, fset: token.NewFileSet()}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(p.fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			p.files = append(p.files, f)
		}
		if len(p.files) > 0 {
			all = append(all, p)
		}
		return err
	})
	if err != nil || len(all) < 10 {
		t.Fatalf("the core has %d packages, %v; want at least 10", len(all), err)
	}
	return all
}

// structs calls visit with each struct type that the package declares.
func (p corePackage) structs(visit func(file, name string, s *ast.StructType)) {
	for _, f := range p.files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					if st, ok := s.Type.(*ast.StructType); ok {
						visit(p.fset.File(f.Pos()).Name(), s.Name.Name, st)
					}
				}
			}
		}
	}
}

// Packages of the core have subjects that are worth a package.
func TestPackagesOfTheCore(t *testing.T) {
	if all := corePackages(t); len(all) > 21 { // with the root
		for _, p := range all {
			t.Log(p.dir)
		}
		t.Errorf("%d packages below core; at most 20", len(all)-1)
	}
}

// A part holds what it uses, and never the whole that it belongs to.
func TestPartsHoldNoWhole(t *testing.T) {
	whole := map[string]string{"Runtime": "core/core.go", "execution": "core/turn/execution.go"}
	seen := map[string]bool{}
	for _, p := range corePackages(t) {
		p.structs(func(file, name string, s *ast.StructType) {
			seen[name] = true
			for _, field := range s.Fields.List {
				held := field.Type
				if star, ok := held.(*ast.StarExpr); ok {
					held = star.X
				}
				if sel, ok := held.(*ast.SelectorExpr); ok {
					held = sel.Sel
				}
				if id, ok := held.(*ast.Ident); ok && whole[id.Name] != "" && whole[id.Name] != file {
					t.Errorf("%s: %s holds the whole %s", file, name, id.Name)
				}
			}
		})
	}
	for name := range whole {
		if !seen[name] {
			t.Errorf("there is no type %s", name)
		}
	}
}

// The types of the three rooms depend on at most eight others, whether these are given by pointer, by interface or as functions.
func TestDependenciesOfParts(t *testing.T) {
	checked := 0
	for _, p := range corePackages(t) {
		if !slices.Contains([]string{"core/intake", "core/turn", "core/schedule"}, p.dir) {
			continue
		}
		p.structs(func(file, name string, s *ast.StructType) {
			n := 0
			for _, field := range s.Fields.List {
				given := len(field.Names) > 0 && field.Names[0].IsExported()
				if _, ok := field.Type.(*ast.FuncType); given && (ok || isPart(field.Type)) {
					n += len(field.Names)
				}
			}
			if n > 0 {
				checked++
			}
			if n > 8 {
				t.Errorf("%s: %s depends on %d parts; at most 8", file, name, n)
			}
		})
	}
	if checked < 20 {
		t.Errorf("only %d types have dependencies", checked)
	}
}

// isPart reports whether a field of that type is another part: a pointer, or an interface that ends in Store or is named without a package.
func isPart(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.StarExpr:
		return true
	case *ast.Ident:
		return strings.HasSuffix(x.Name, "Store") || slices.Contains([]string{"Tracker", "Questions", "Opener"}, x.Name)
	}
	return false
}

// The files of a package form layers: at most eight of them refer to each other in a circle, also by fields that are functions.
func TestCyclesOfFiles(t *testing.T) {
	for _, p := range corePackages(t) {
		if c := largestCycle(p.references()); len(c) > 8 {
			t.Errorf("%s: %d files refer to each other in a circle; at most 8: %s", p.dir, len(c), strings.Join(c, ", "))
		}
	}
	if c := largestCycle(map[string]map[string]bool{"a": {"b": true}, "b": {"c": true}, "c": {"a": true, "d": true}, "d": {}}); !slices.Equal(c, []string{"a", "b", "c"}) {
		t.Errorf("found %v", c)
	}
}

// references returns, for each file of p, the files that declare what it uses. Types of other packages are not needed for that.
func (p corePackage) references() map[string]map[string]bool {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	cfg := types.Config{Importer: noImporter{}, Error: func(error) {}}
	_, _ = cfg.Check(p.dir, p.fset, p.files, &info)
	refs := map[string]map[string]bool{}
	for id, o := range info.Uses {
		if o.Pkg() == nil || o.Pkg().Path() != p.dir || !o.Pos().IsValid() {
			continue
		}
		from, to := filepath.Base(p.fset.Position(id.Pos()).Filename), filepath.Base(p.fset.Position(o.Pos()).Filename)
		if refs[from] == nil {
			refs[from] = map[string]bool{}
		}
		if from != to {
			refs[from][to] = true
		}
	}
	return refs
}

type noImporter struct{}

func (noImporter) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// largestCycle returns the largest set of nodes that reach each other, in order.
func largestCycle(refs map[string]map[string]bool) (largest []string) {
	reach := map[string]map[string]bool{}
	var walk func(from, at string)
	walk = func(from, at string) {
		for to := range refs[at] {
			if !reach[from][to] {
				reach[from][to] = true
				walk(from, to)
			}
		}
	}
	for n := range refs {
		reach[n] = map[string]bool{}
		walk(n, n)
	}
	for n := range refs {
		var c []string
		for m := range refs {
			if reach[n][m] && reach[m][n] {
				c = append(c, m)
			}
		}
		if len(c) > len(largest) {
			largest = c
		}
	}
	slices.Sort(largest)
	return largest
}
