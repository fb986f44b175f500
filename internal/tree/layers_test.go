package tree

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// top is the repository's folder. Each test changes to it: files that are read after a change of folder in TestMain do not count
// for the cache of test results.
const top = "../.."

// layer is one row of the import table.
type layer struct {
	pkg    string   // a path below the module, or a pattern of path.Match
	ours   []string // what it may import of ours
	others []string // what it may import beyond the standard library: prefixes
}

// layers reads the import table of ARCHITECTURE.md, which is the only place where it stands.
func layers(t *testing.T) (all []layer) {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| package | what it contains | of ours | of others |\n|---|---|---|---|\n")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no import table")
	}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			t.Fatalf("a row of the import table has %d cells: %s", len(cells), line)
		}
		name := named(t, cells[0])
		if len(name) != 1 {
			t.Fatalf("a row of the import table names no package: %s", line)
		}
		all = append(all, layer{name[0], named(t, cells[2]), named(t, cells[3])})
	}
	return all
}

var quotedName = regexp.MustCompile("`([^`]*)`")

// named returns the names in a cell of the import table.
func named(t *testing.T, cell string) (names []string) {
	t.Helper()
	switch cell = strings.TrimSpace(cell); cell {
	case "–":
		return nil
	case "everything":
		return []string{"*"}
	}
	for _, m := range quotedName.FindAllStringSubmatch(cell, -1) {
		names = append(names, strings.TrimPrefix(m[1], "."))
	}
	if len(names) == 0 {
		t.Fatalf("a cell of the import table is %q: write names in backquotes, a dash, or everything", cell)
	}
	return names
}

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
			t.Errorf("%s: package %q has no row in the import table of ARCHITECTURE.md", name, pkg)
			return
		}
		used[i] = true
		for _, spec := range file.Imports {
			checkImport(t, name, strings.Trim(spec.Path.Value, `"`), layers[i].ours, layers[i].others)
		}
	})
	for i, l := range layers {
		if !used[i] {
			t.Errorf("the import table has a row for %q, of which there is no package", l.pkg)
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

// allows reports whether a pattern of the table is for a package: * alone is everything, and in a path any name.
func allows(pattern, pkg string) bool {
	ok, err := path.Match(pattern, pkg)
	return pattern == "*" || err == nil && ok
}

// TestNoPlatformInCore: what is common to all platforms names none of them.
func TestNoPlatformInCore(t *testing.T) {
	t.Chdir(top)
	platform := regexp.MustCompile(`(?i)discord|telegram|slack|whatsapp|matrix\.org`)
	eachFile(t, func(name string, _ *ast.File, _ *token.FileSet) {
		if !common(name) {
			return
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
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
		case d.IsDir() || filepath.Ext(name) != ".go":
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
	if err != nil {
		t.Fatal(err)
	}
}
