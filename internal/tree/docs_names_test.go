package tree

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"parley/internal/require"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// names are the names that the module declares.
type names struct {
	packages map[string]map[string]bool // the top-level names of packages, by the names of these
	members  map[string]map[string]bool // the fields and methods of types, by Type and pkg.Type; see bare
	embedded map[string][]string        // the types that types embed
	imported map[string]bool            // the names of packages that come from elsewhere
}

// A name of Go code in the docs, such as core.Config or Call.Update, is one that the code declares.
func TestNamesInTheDocs(t *testing.T) {
	t.Chdir(top)
	declared := declaredNames(t)
	n := 0
	for _, p := range readPages(t) {
		for _, span := range p.code {
			found := namesIn(span)
			n += len(found)
			for _, name := range found {
				if !declared.has(name) {
					t.Errorf("%s names %s, which does not exist", p.name, strings.Join(name, "."))
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d names were found", n)
	}
}

var testName = regexp.MustCompile(`^Test[A-Z]\w*$`)

// A test that the docs name as evidence exists.
func TestTestsInTheDocs(t *testing.T) {
	t.Chdir(top)
	tests := map[string]bool{}
	for _, names := range declaredNames(t).packages {
		maps.Copy(tests, names)
	}
	n := 0
	for _, p := range readPages(t) {
		for _, span := range p.code {
			if !testName.MatchString(span) {
				continue
			}
			if n++; !tests[span] {
				t.Errorf("%s names %s, which does not exist", p.name, span)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d tests were found", n)
	}
}

func TestNamesAreFoundInCode(t *testing.T) {
	declared := names{
		packages: map[string]map[string]bool{"core": {"Config": true}},
		members: map[string]map[string]bool{
			"core.Config": {"Log": true}, "Config": {"Log": true}, "Call": {"Update": true}, "Base": {"Close": true}, "actiontest.Call": {"Scene": true},
		},
		embedded: map[string][]string{"Call": {"Base"}, "Base": {"Call"}},
		imported: map[string]bool{"json": true, "context": true},
	}
	for span, want := range map[string]bool{
		"core.Config": true, "(core.Config, *core.Gone)": false, "core.Config.Log": true, "core.Config.Gone": false,
		"Call.Update": true, "Call.Close": true, "Call.Scene": false, "Gone.Update": false, "panics.Run": false,
		"json.Config": true, "config.yaml": true, "context.Canceled": true, "README.md": true, "c.Update(x)": true, "Call{Update: true}": true,
	} {
		ok := !slices.ContainsFunc(namesIn(span), func(name []string) bool { return !declared.has(name) })
		if ok != want {
			t.Errorf("%q: %q exist: %t; want %t", span, namesIn(span), ok, want)
		}
	}
}

var qualified = regexp.MustCompile(`\b[A-Za-z]\w*(\.[A-Z]\w*)+\b`)

// namesIn returns the names with dots in a piece of code, in parts.
func namesIn(code string) (found [][]string) {
	for _, name := range qualified.FindAllString(code, -1) {
		found = append(found, strings.Split(name, "."))
	}
	return found
}

// has reports whether the parts of a name exist: a package, one of its names, and a member; or a type of any package, and a member. A
// single letter is a variable.
func (n names) has(name []string) bool {
	switch first := name[0]; {
	case len(first) == 1, n.imported[first] && !n.packages[first][name[1]]:
		return true
	case first[0] >= 'a': // a package
		return n.packages[first][name[1]] && (len(name) == 2 || n.hasMember(first+"."+name[1], name[2], nil))
	}
	return n.hasMember(name[0], name[1], nil)
}

// hasMember reports whether a type has a field or method, of its own or of a type that it embeds. path are the types that embed it.
func (n names) hasMember(of, member string, path []string) bool {
	if slices.Contains(path, of) {
		return false
	}
	return n.members[of][member] || slices.ContainsFunc(n.embedded[of], func(inner string) bool {
		return n.hasMember(inner, member, append(path, of))
	})
}

// declaredNames returns the names of the module.
func declaredNames(t *testing.T) names {
	t.Helper()
	n := names{map[string]map[string]bool{}, map[string]map[string]bool{}, map[string][]string{}, map[string]bool{}}
	for _, file := range goFiles(t) {
		f := require.Value(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
		pkg := strings.TrimSuffix(f.Name.Name, "_test")
		if f.Name.Name == "main" {
			pkg = path.Base(path.Dir(file))
		}
		for _, d := range f.Decls {
			n.add(pkg, file, d)
		}
		for _, spec := range f.Imports {
			if imp := strings.Trim(spec.Path.Value, `"`); !strings.HasPrefix(imp, "parley/") {
				n.imported[path.Base(imp)] = true
			}
		}
	}
	return n
}

// bare reports whether the docs can name the types of a package without it. Those of tests are often called like what they test.
func bare(pkg, file string) bool {
	return !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(pkg, "test") && !strings.HasSuffix(pkg, "fake")
}

func (n names) add(pkg, file string, d ast.Decl) {
	for _, id := range declared(d) {
		put(n.packages, pkg, id.Name)
	}
	types := []string{pkg + "."}
	if bare(pkg, file) {
		types = append(types, "")
	}
	for _, prefix := range types {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				put(n.members, prefix+receiver(d), d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					n.addMembers(prefix+s.Name.Name, s.Type)
				}
			}
		}
	}
}

// addMembers adds the fields of a struct, or the methods of an interface.
func (n names) addMembers(name string, of ast.Expr) {
	var fields *ast.FieldList
	switch of := of.(type) {
	case *ast.StructType:
		fields = of.Fields
	case *ast.InterfaceType:
		fields = of.Methods
	default:
		return
	}
	for _, f := range fields.List {
		for _, id := range f.Names {
			put(n.members, name, id.Name)
		}
		if len(f.Names) == 0 {
			inner := typeName(f.Type)
			put(n.members, name, inner)
			n.embedded[name] = append(n.embedded[name], inner)
		}
	}
}

// typeName returns the name of an embedded type, without its package.
func typeName(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return typeName(of.X)
	case *ast.SelectorExpr:
		return of.Sel.Name
	case *ast.IndexExpr:
		return typeName(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

func put(in map[string]map[string]bool, key, name string) {
	if in[key] == nil {
		in[key] = map[string]bool{}
	}
	in[key][name] = true
}
