package parley_test

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

type layer struct {
	pkg    string   // a path below the module, or a pattern of path.Match
	ours   []string // what it may import of ours
	others []string // what it may import beyond the standard library: prefixes
}

// layers says who may import whom: the design's section 4, executed. A package that is not listed fails.
var layers = []layer{
	{"core", []string{"core/partialjson", "core/scan", "core/template"}, nil},
	{"core/template", nil, nil},
	{"core/partialjson", nil, nil},
	{"core/scan", nil, nil},
	{"core/coretest", []string{"core"}, []string{"pgregory.net/rapid", "github.com/google/go-cmp"}},
	{"core/actiontest", []string{"core", "internal/schema"}, nil},
	{"progressive", []string{"core", "progressive/markdown"}, []string{"github.com/rivo/uniseg"}},
	{"progressive/markdown", []string{"core"}, []string{"github.com/rivo/uniseg", "github.com/yuin/goldmark"}},
	{"progressive/progressivetest", []string{"core", "progressive"}, []string{"pgregory.net/rapid"}},
	{"connectors", []string{"core", "progressive"}, nil},
	{"connectors/connectortest", []string{"core", "progressive", "connectors", "sim"}, nil},
	{"connectors/connectortest/*", []string{"progressive", "sim", "connectors/connectortest", "connectors/discord/discordfake",
		"connectors/telegram/telegramfake"}, nil},
	{"connectors/terminal", []string{"core", "progressive/markdown"}, []string{"github.com/rivo/uniseg", "golang.org/x/term"}},
	{"connectors/web", []string{"core", "connectors"}, nil},
	{"connectors/discord", []string{"core", "progressive", "progressive/markdown", "connectors", "media", "internal/guard"},
		[]string{"github.com/bwmarrin/discordgo", "github.com/gorilla/websocket"}},
	{"connectors/discord/discordfake", nil, []string{"github.com/gorilla/websocket"}},
	{"connectors/telegram", []string{"core", "progressive", "progressive/markdown", "connectors", "media", "internal/guard"},
		[]string{"github.com/go-telegram-bot-api/telegram-bot-api", "github.com/yuin/goldmark"}},
	{"connectors/telegram/telegramfake", nil, nil},
	{"models/demo", []string{"core"}, nil},
	{"models/openai", []string{"core"}, []string{"github.com/openai/openai-go"}},
	{"models/modelfake", nil, nil},
	{"plugins/*", []string{"core"}, nil},
	{"backends/inmem", []string{"core", "progressive"}, nil},
	{"backends/redis", []string{"core", "progressive", "backends/inmem"}, []string{"github.com/redis/go-redis"}},
	{"backends/redis/redistest", nil, nil},
	{"backends/sqlite/sqlitetest", []string{"backends/sqlite"}, nil},
	{"backends/sqlite", []string{"core", "progressive"}, []string{"modernc.org/sqlite", "github.com/pressly/goose", "golang.org/x/sys"}},
	{"internal/guard", nil, nil},
	{"media", []string{"core", "internal/guard"}, nil},
	{"media/pdftext", nil, []string{"github.com/ledongthuc/pdf"}},
	{"config", nil, []string{"github.com/goccy/go-yaml", "github.com/invopop/jsonschema"}},
	{"internal/schema", nil, []string{"github.com/google/jsonschema-go"}},
	{"sim", []string{"core"}, nil},
	{"", []string{"*"}, nil},
	{"cmd/gateway", []string{"", "config", "connectors/terminal", "media/pdftext"}, []string{"github.com/alecthomas/kong", "github.com/lmittmann/tint", "golang.org/x/term"}},
	{"bench", []string{"*"}, nil},
}

func TestLayers(t *testing.T) {
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
			t.Errorf("%s: package %q has no layer; give it one in layers_test.go", name, pkg)
			return
		}
		for _, spec := range file.Imports {
			checkImport(t, name, strings.Trim(spec.Path.Value, `"`), layers[i].ours, layers[i].others)
		}
	})
}

func checkImport(t *testing.T, name, imp string, ours, others []string) {
	t.Helper()
	if own, ok := strings.CutPrefix(imp+"/", "parley/"); ok {
		own = strings.TrimSuffix(own, "/")
		if !slices.Contains(ours, "*") && !slices.Contains(ours, own) {
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

// TestNoPlatformInCore: what is common to all platforms names none of them.
func TestNoPlatformInCore(t *testing.T) {
	platform := regexp.MustCompile(`(?i)discord|telegram|slack|whatsapp|matrix\.org`)
	eachFile(t, func(name string, _ *ast.File, _ *token.FileSet) {
		if !strings.HasPrefix(name, "core/") && !strings.HasPrefix(name, "progressive/") {
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
