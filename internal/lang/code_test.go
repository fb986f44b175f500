package lang

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/internal/golden"
	"parley/internal/require"
)

// top is the repository.
const top = "../.."

// parsed returns the production code that users can read sentences of, by file.
func parsed(t *testing.T) map[string]*ast.File {
	all := map[string]*ast.File{}
	for _, dir := range []string{".", "core", "connectors", "plugins", "progressive", "cmd/gateway"} {
		err := filepath.WalkDir(filepath.Join(top, dir), func(path string, d fs.DirEntry, err error) error {
			name := filepath.Base(path)
			switch {
			case err != nil:
				return err
			case d.IsDir() && dir == "." && filepath.Clean(path) != filepath.Clean(top):
				return filepath.SkipDir // the others are in the list
			case d.IsDir() && (name == "node_modules" || strings.HasSuffix(name, "fake") || strings.HasSuffix(name, "test") || name == "discordworld"):
				return filepath.SkipDir
			case d.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"):
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if rel, _ := filepath.Rel(top, path); err == nil {
				all[filepath.ToSlash(rel)] = f
			}
			return err
		})
		require.NoError(t, err)
	}
	return all
}

// words returns the value of a string literal, and whether x is one.
func words(x ast.Expr) (string, bool) {
	l, ok := x.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil
}

// built are the beginnings of keys that code completes at run time.
var built = []string{"command.", "failure.", "limit.", "cost.", "remind.repeat.", "memory.about.", "page.", "front.", "platform."}

// dynamic reports whether code can build key.
func dynamic(key string) bool {
	return slices.ContainsFunc(built, func(b string) bool { return strings.HasPrefix(key, b) })
}

// Keys are literals: each is in the catalog, and a call fills in exactly the placeholders of its sentence.
func TestKeysInCode(t *testing.T) {
	en := catalog()["en"]
	sections := map[string]bool{}
	for key := range en {
		section, _, _ := strings.Cut(key, ".")
		sections[section] = true
	}
	isKey := regexp.MustCompile(`^([a-z]+)(\.[a-z0-9_]+)+$`)
	notKeys := map[string]bool{"link.unfurl": true, "voice.ogg": true, "command.prompt": true, "access.always.rooms": true}
	used := map[string]bool{}
	for path, f := range parsed(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				checkCall(t, path, call, en)
			}
			x, _ := n.(ast.Expr)
			s, ok := words(x)
			if m := isKey.FindStringSubmatch(s); ok && m != nil && sections[m[1]] && !notKeys[s] {
				used[s] = true
				if _, known := en[s]; !known && !dynamic(s) {
					t.Errorf("%s: the catalog has no %q", path, s)
				}
			}
			return true
		})
	}
	for key := range en {
		if !used[key] && !dynamic(key) && key != "language.name" {
			t.Errorf("no code uses %q", key)
		}
	}
}

// checkCall checks a call that says a sentence with a literal key.
func checkCall(t *testing.T, path string, call *ast.CallExpr, en map[string]text) {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
	case *ast.Ident:
		name = f.Name
	}
	if name != "Say" && name != "refused" && name != "fail" && name != "TellOwners" {
		return
	}
	at := slices.IndexFunc(call.Args, func(x ast.Expr) bool { s, _ := words(x); _, ok := en[s]; return ok })
	if at < 0 {
		return
	}
	key, _ := words(call.Args[at])
	var filled []string
	for i := at + 1; i < len(call.Args); i += 2 {
		s, _ := words(call.Args[i])
		filled = append(filled, "{"+s+"}")
	}
	for _, p := range placeholders(cmpForm(en[key])) {
		if !slices.Contains(filled, p) {
			t.Errorf("%s: %q is said without %s", path, key, p)
		}
	}
}

// Options are told apart by their texts, in whatever language they were offered, and a label has at most 60 characters.
func TestOptionsDiffer(t *testing.T) {
	for _, keys := range [][]string{
		{"approval.once", "approval.both", "approval.always", "approval.deny"}, {"cost.cheaper", "cost.stop"}, {"trust.yes", "trust.no"},
		{"forget.yes", "forget.no"}, {"pairing.approve", "pairing.deny"}, {"link.link", "link.no"}, {"model.default"},
	} {
		meaning := map[string]string{}
		for _, key := range keys {
			for tag, s := range Every(key) {
				if other, ok := meaning[strings.ToLower(s)]; ok && other != key {
					t.Errorf("%q in %s is also %q", key, tag, other)
				}
				if meaning[strings.ToLower(s)] = key; len([]rune(s)) > 60 {
					t.Errorf("%q in %s is too long for a label", key, tag)
				}
				if !Is(key, s) {
					t.Errorf("%q in %s is not recognized", key, tag)
				}
			}
		}
	}
}

// sentence finds English sentences. Errors and logs begin in lower case.
var sentence = regexp.MustCompile(`^[^a-z]{0,4}[A-Z][A-Za-z']* [^\n]*[a-z]{2}[^\n]*[.!?…]`)

// The file lists how many English sentences each file still has: texts for models, operators and developers, and those
// that are not moved yet. A sentence for users belongs into the catalog. The numbers only shrink.
func TestEnglishOutsideOfTheCatalog(t *testing.T) {
	var lines []string
	files := parsed(t)
	for _, path := range slices.SortedFunc(maps.Keys(files), cmp.Compare[string]) {
		n := 0
		ast.Inspect(files[path], func(x ast.Node) bool {
			if e, ok := x.(ast.Expr); ok {
				if s, ok := words(e); ok && sentence.MatchString(s) {
					n++
				}
			}
			return true
		})
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%s %d", path, n))
		}
	}
	golden.Check(t, "testdata/english.txt", strings.Join(lines, "\n")+"\n")
}
