package tree

import (
	"os"
	"parley/internal/require"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A Go file that the docs name exists. One with a folder stands exactly there; `*` is any folder. One without a folder
// stands anywhere: the text says where.
func TestFilesInTheDocs(t *testing.T) {
	t.Chdir(top)
	files := goFiles(t)
	n := 0
	for _, p := range readPages(t) {
		for _, span := range p.code {
			for _, name := range goNames.FindAllString(span, -1) {
				n++
				if !someFile(files, name) {
					t.Errorf("%s names %s, which does not exist", p.name, name)
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d files were found", n)
	}
}

func TestFilesAreFound(t *testing.T) {
	files := []string{"core/run.go", "connectors/web/sink.go"}
	for name, want := range map[string]bool{"run.go": true, "core/run.go": true, "web/run.go": false, "connectors/*/sink.go": true, "connectors/*/run.go": false, "gone.go": false} {
		if someFile(files, name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

// A path of the repository that the docs name, such as core/access or connectors/*/sink.go, exists.
func TestPathsInTheDocs(t *testing.T) {
	t.Chdir(top)
	paths := pathPattern(t)
	n := 0
	for _, p := range readPages(t) {
		for _, span := range p.code {
			for _, m := range paths.FindAllStringSubmatch(span, -1) {
				n++
				if found, err := filepath.Glob(strings.TrimRight(m[1], "./")); err != nil || len(found) == 0 {
					t.Errorf("%s names %s, which does not exist", p.name, m[1])
				}
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d paths were found", n)
	}
}

// pathPattern matches paths that begin with a folder of the repository.
func pathPattern(t *testing.T) *regexp.Regexp {
	t.Helper()
	entries := require.Value(os.ReadDir("."))(t)
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			folders = append(folders, regexp.QuoteMeta(e.Name()))
		}
	}
	return regexp.MustCompile(`(?:^|[\s("=])(?:\./)?((?:` + strings.Join(folders, "|") + `)/[\w*./-]+)`)
}

var (
	listedPackages = regexp.MustCompile("[Pp]ackages?[^`.\n]{0,20}((?:`[\\w/]+`(?:, and |, | and )?)+)")
	elsewhere      = regexp.MustCompile(`\b([A-Z]{4,})(?:\.md)? [A-Z]{2}-\d+`)
)

// A package that the text calls one exists, and a page whose number the text gives is in the repository.
func TestPackagesAndPagesInTheDocs(t *testing.T) {
	t.Chdir(top)
	known := declaredNames(t).packages
	for _, p := range readPages(t) {
		for _, name := range strangePackages(known, p.text) {
			t.Errorf("%s names a package %s, which does not exist", p.name, name)
		}
		for _, m := range elsewhere.FindAllStringSubmatch(p.text, -1) {
			if _, err := os.Stat(m[1] + ".md"); err != nil {
				t.Errorf("%s names a page %s, which is not in the repository", p.name, m[1])
			}
		}
	}
}

// strangePackages returns the packages of a text that are not known.
func strangePackages(known map[string]map[string]bool, text string) (strange []string) {
	for _, m := range listedPackages.FindAllStringSubmatch(text, -1) {
		for _, name := range quotedName.FindAllStringSubmatch(m[1], -1) {
			if known[path.Base(name[1])] == nil {
				strange = append(strange, name[1])
			}
		}
	}
	return strange
}

func TestPackagesAreFoundInText(t *testing.T) {
	known := map[string]map[string]bool{"chat": {}, "llm": {}}
	for text, want := range map[string]int{
		"the package `panics`": 1, "in one place, package `chat`": 0, "packages `chat`, `llm`, and `gone`": 1, "packages of their own: `core/chat` and `text`": 1,
		"the `panics` column": 0,
	} {
		if got := strangePackages(known, text); len(got) != want {
			t.Errorf("%s: %q; want %v", text, got, want)
		}
	}
}

var goNames = regexp.MustCompile(`[\w*][\w*/.-]*\.go\b`)

// someFile reports whether name is one of files.
func someFile(files []string, name string) bool {
	for _, f := range files {
		if !strings.Contains(name, "/") {
			f = path.Base(f)
		}
		if ok, err := path.Match(name, f); err == nil && ok {
			return true
		}
	}
	return false
}
