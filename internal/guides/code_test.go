// Package guides_test compares the guides for contributors with the code that they show, and tries what they promise.
package guides_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/require"
)

// top is the repository's folder.
const top = "../.."

// A guide shows the code of an example, which is compiled and tested in its own folder. A guide that is whole shows all of it,
// except imports and tests.
func TestGuidesShowCompiledCode(t *testing.T) {
	for _, guide := range []struct {
		page, example string
		whole         bool
	}{
		{"docs/add-a-platform.md", "connectors/example", true},
		{"docs/add-a-model.md", "models/example", true},
		{"docs/add-an-action.md", "plugins/example", false},
	} {
		t.Run(filepath.Base(guide.page), func(t *testing.T) {
			shown := codeBlocks(t, guide.page)
			for file, blocks := range shown {
				if !strings.Contains(file, "/") {
					file = guide.example + "/" + file
				}
				code := source(t, file)
				for _, block := range blocks {
					if !strings.Contains(code, strings.TrimSpace(block)) {
						t.Errorf("%s shows code that is not in %s:\n%s", guide.page, file, block)
					}
				}
			}
			if guide.whole {
				checkWhole(t, guide.example, shown)
			}
		})
	}
}

// checkWhole fails if a file of the example has code that no block shows.
func checkWhole(t *testing.T, example string, shown map[string][]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(top, example, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has %d files: %v", example, len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		_, body, _ := strings.Cut(source(t, filepath.Join(example, name)), "\n)\n\n") // behind the imports
		if page := strings.TrimSpace(strings.Join(shown[name], "\n")); page != strings.TrimSpace(body) {
			t.Errorf("the guide shows of %s:\n%s\nbut it is:\n%s", name, page, body)
		}
	}
}

// codeBlocks returns the blocks of Go code of a page, by the file that the first line of each names: one of the example, or of
// the repository if it has a folder.
func codeBlocks(t *testing.T, page string) map[string][]string {
	t.Helper()
	shown := map[string][]string{}
	for i, block := range strings.Split(source(t, page), "\n```go\n")[1:] {
		code, _, ended := strings.Cut(block, "```\n")
		name, code, found := strings.Cut(code, "\n")
		if name = strings.TrimPrefix(name, "// "); !ended || !found || !strings.HasSuffix(name, ".go") {
			t.Errorf("block %d begins with %q, which names no file", i+1, name)
		}
		shown[name] = append(shown[name], strings.TrimPrefix(code, "\n"))
	}
	if len(shown) == 0 {
		t.Errorf("%s shows no code", page)
	}
	return shown
}

// source returns a file of the repository.
func source(t *testing.T, file string) string {
	t.Helper()
	text := require.Value(os.ReadFile(filepath.Join(top, file)))(t)
	return string(text)
}
