package tree

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"testing"
)

// A name of Go code in the docs, such as core.Config, is one that the code declares.
func TestNamesInTheDocs(t *testing.T) {
	t.Chdir(top)
	declared := declaredNames(t)
	n := 0
	for _, p := range readPages(t) {
		for _, span := range p.code {
			for _, name := range namesIn(declared, span) {
				n++
				if pkg, id := name[0], name[1]; !declared[pkg][id] {
					t.Errorf("%s names %s.%s, which does not exist", p.name, pkg, id)
				}
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d names were found", n)
	}
}

func TestNamesAreFoundInCode(t *testing.T) {
	t.Chdir(top)
	declared := map[string]map[string]bool{"core": {"Config": true}}
	for span, want := range map[string]int{"core.Config": 1, "(core.Config, *core.Gone)": 2, "json.Config": 0, "config.yaml": 0, "score.Config": 0} {
		if got := namesIn(declared, span); len(got) != want {
			t.Errorf("%q: %q", span, got)
		}
	}
}

var qualified = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)`)

// namesIn returns the names that a piece of code takes from packages of the module: the package, and the name.
func namesIn(declared map[string]map[string]bool, code string) (names [][2]string) {
	for _, m := range qualified.FindAllStringSubmatch(code, -1) {
		if declared[m[1]] != nil {
			names = append(names, [2]string{m[1], m[2]})
		}
	}
	return names
}

// declaredNames returns the top-level names of the module, by the names of their packages.
func declaredNames(t *testing.T) map[string]map[string]bool {
	t.Helper()
	declared := map[string]map[string]bool{}
	for _, path := range goFiles(t) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		names := declared[file.Name.Name]
		if names == nil {
			names = map[string]bool{}
			declared[file.Name.Name] = names
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names[d.Name.Name] = true
				}
			case *ast.GenDecl:
				addNames(names, d)
			}
		}
	}
	return declared
}

func addNames(names map[string]bool, d *ast.GenDecl) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			names[s.Name.Name] = true
		case *ast.ValueSpec:
			for _, n := range s.Names {
				names[n.Name] = true
			}
		}
	}
}
