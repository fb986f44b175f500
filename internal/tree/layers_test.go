package tree

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/internal/require"
)

// top is the repository's folder. Each test changes to it: files that are read after a change of folder in TestMain do not count
// for the cache of test results.
const top = "../.."

// imports is the file that says which package may import which, from the top of the repository.
const imports = "internal/tree/imports.txt"

// layer is what a package may import.
type layer struct {
	pkg    string   // a path below the module, or a pattern of path.Match
	ours   []string // packages of the module
	others []string // beyond the standard library: prefixes
}

// layers reads the file of imports.
func layers(t *testing.T) []layer {
	t.Helper()
	text := require.Value(os.ReadFile(imports))(t)
	all := require.Value(parseLayers(string(text)))(t)
	return all
}

// parseLayers reads packages, each with a colon and a description, and below it what it may import, indented.
func parseLayers(text string) (all []layer, err error) {
	for i, line := range strings.Split(text, "\n") {
		name, indented := strings.CutPrefix(line, "\t")
		pkg, what, ok := strings.Cut(line, ": ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !indented && ok && what != "":
			all = append(all, layer{pkg: strings.TrimPrefix(pkg, ".")})
		case !indented || len(all) == 0 || strings.TrimSpace(name) != name || name == "":
			return nil, fmt.Errorf("%s:%d: %q is neither a package with its description nor an indented import", imports, i+1, line)
		default:
			l := &all[len(all)-1]
			if first, _, _ := strings.Cut(name, "/"); strings.Contains(strings.TrimPrefix(first, "."), ".") {
				l.others = append(l.others, name)
			} else {
				l.ours = append(l.ours, strings.TrimPrefix(name, "."))
			}
		}
	}
	return all, nil
}

func TestParseLayers(t *testing.T) {
	got, err := parseLayers("# comment\n\n.: builds everything\n\teverything\n\ncore/*: rooms\n\t.\n\tcore/chat\n\tgithub.com/x/y\n")
	want := []layer{{pkg: "", ours: []string{"everything"}}, {pkg: "core/*", ours: []string{"", "core/chat"}, others: []string{"github.com/x/y"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, wrong := range []string{"\tcore/chat\n", "core/chat\n", "core/chat: \n", "core/chat: x\n\t\n", "core/chat: x\n\t core/llm\n"} {
		if _, err := parseLayers(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}

var quotedName = regexp.MustCompile("`([^`]*)`")

func TestLayers(t *testing.T) {
	t.Chdir(top)
	layers := layers(t)
	used := make([]bool, len(layers))
	eachFile(t, func(name string, file *ast.File, _ *token.FileSet) {
		if strings.HasSuffix(name, "_test.go") {
			return // tests may use fakes and test libraries
		}
		pkg := strings.TrimPrefix(path.Dir("/"+name), "/")
		i := slices.IndexFunc(layers, func(l layer) bool {
			ok, _ := path.Match(l.pkg, pkg)
			return ok
		})
		if i < 0 {
			t.Errorf("%s: package %q is missing in %s", name, pkg, imports)
			return
		}
		used[i] = true
		for _, spec := range file.Imports {
			checkImport(t, name, strings.Trim(spec.Path.Value, `"`), layers[i].ours, layers[i].others)
		}
	})
	for i, l := range layers {
		if !used[i] {
			t.Errorf("%s has %q, which is no package", imports, l.pkg)
		}
	}
}

func checkImport(t *testing.T, name, imp string, ours, others []string) {
	t.Helper()
	if own, ok := strings.CutPrefix(imp+"/", "parley/"); ok {
		own = strings.TrimSuffix(own, "/")
		if !slices.ContainsFunc(ours, func(pattern string) bool { return allows(pattern, own) }) {
			t.Errorf("%s must not import parley/%s", name, own)
		}
		return
	}
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
		return // the standard library
	}
	if !slices.ContainsFunc(others, func(p string) bool { return strings.HasPrefix(imp, p) }) {
		t.Errorf("%s must not import %s", name, imp)
	}
}

// allows reports whether a pattern is for a package: * in a path is any name.
func allows(pattern, pkg string) bool {
	ok, err := path.Match(pattern, pkg)
	return pattern == "everything" || err == nil && ok
}

// TestNoPlatformInCore: what is common to all platforms names none of them.
func TestNoPlatformInCore(t *testing.T) {
	t.Chdir(top)
	platform := regexp.MustCompile(`(?i)discord|telegram|slack|whatsapp|matrix\.org`)
	eachFile(t, func(name string, _ *ast.File, _ *token.FileSet) {
		if !common(name) {
			return
		}
		text := require.Value(os.ReadFile(name))(t)
		for i, line := range strings.Split(string(text), "\n") {
			if found := platform.FindString(line); found != "" && !inComment(line) {
				t.Errorf("%s:%d names %s", name, i+1, found)
			}
		}
	})
}

// common reports whether a file belongs to what all platforms have in common.
func common(name string) bool {
	switch first, _, nested := strings.Cut(name, "/"); {
	case first == "core" || first == "progressive":
		return true
	case strings.HasSuffix(name, "_test.go"):
		return false
	default:
		return !nested && name != "catalog.go" || first == "config" || first == "cmd" || first == "internal"
	}
}

// inComment lets comments give examples of ids.
func inComment(line string) bool {
	return strings.HasPrefix(strings.TrimSpace(line), "//")
}

const (
	maxFile = 500 // lines
	maxFunc = 80
)

// long lists what may be longer, and why.
var long = map[string]string{}

func TestLengths(t *testing.T) {
	t.Chdir(top)
	eachFile(t, func(name string, file *ast.File, fset *token.FileSet) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		if n := fset.File(file.Pos()).LineCount(); n > maxFile && long[name] == "" {
			t.Errorf("%s has %d lines; does it still have one subject?", name, n)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if f.Name.Name == "init" && f.Recv == nil {
				t.Errorf("%s has an init: nothing may happen by importing", name)
			}
			if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > maxFunc && long[name+":"+f.Name.Name] == "" {
				t.Errorf("%s: %s has %d lines", name, f.Name.Name, n)
			}
		}
	})
}

// eachFile parses every Go file of the module.
func eachFile(t *testing.T, f func(name string, file *ast.File, fset *token.FileSet)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "artifacts"):
			return filepath.SkipDir
		case d.IsDir():
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != "." {
				return filepath.SkipDir // a module of its own
			}
			return nil
		case filepath.Ext(name) != ".go":
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		f(filepath.ToSlash(name), file, fset)
		return nil
	})
	require.NoError(t, err)
}
