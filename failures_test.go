package parley_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every id of the docs is named where it is tested, or the docs say why not; and no test names an id that nobody explains.
func TestFailuresAreGuarded(t *testing.T) {
	id := regexp.MustCompile(`\b(?:DR|TR|ST|IN|WB|SE|LM|DI)-[0-9]{2}\b`)
	doc, err := os.ReadFile("docs/engineering/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, without, ok := strings.Cut(string(doc), "## What Parley does not do")
	explained, excused := firstCells(id, rows), firstCells(id, without)
	if !ok || len(explained) < 100 || len(excused) == 0 {
		t.Fatalf("the docs explain %d ids and excuse %d", len(explained), len(excused))
	}
	named := map[string]string{}
	for _, path := range goFiles(t) {
		code, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range id.FindAllString(string(code), -1) {
			if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") || strings.Contains(path, "fake/") {
				named[found] = path
			}
		}
	}
	for i := range explained {
		if (named[i] == "") != excused[i] {
			t.Errorf("%s: named in %q, excused: %v", i, named[i], excused[i])
		}
	}
	for i, path := range named {
		if !explained[i] {
			t.Errorf("%s names %s, which docs/engineering/failures.md does not explain", path, i)
		}
	}
}

// firstCells are the ids that begin the rows of a table.
func firstCells(id *regexp.Regexp, text string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			if i := strings.TrimSpace(cells[1]); id.FindString(i) == i && i != "" {
				found[i] = true
			}
		}
	}
	return found
}

// goFiles are all of the module.
func goFiles(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && path != "failures_test.go" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
