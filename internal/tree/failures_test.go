package tree

import (
	"fmt"
	"io/fs"
	"os"
	"parley/internal/require"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every id of the docs is named where it is tested, or the docs say why not; and no test names an unexplained id.
func TestFailuresAreGuarded(t *testing.T) {
	t.Chdir(top)
	id := regexp.MustCompile(`\b(?:DR|TR|ST|IN|WB|SE|LM|DI)-[0-9]{2}\b`)
	doc := require.Value(os.ReadFile("docs/engineering/failures.md"))(t)
	rows, without, ok := strings.Cut(string(doc), "## What Parley does not do")
	explained, excused := firstCells(id, rows), firstCells(id, without)
	if !ok || len(explained) < 100 || len(excused) == 0 {
		t.Fatalf("the docs explain %d ids and excuse %d", len(explained), len(excused))
	}
	named := map[string]string{}
	for _, path := range goFiles(t) {
		code := require.Value(os.ReadFile(path))(t)
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

// Each id has one row, and each row as many cells as the head of its table: two lines of work that both add a row can break that.
func TestFailuresAreOneRowEach(t *testing.T) {
	t.Chdir(top)
	doc := require.Value(os.ReadFile("docs/engineering/failures.md"))(t)
	rows, without, _ := strings.Cut(string(doc), "## What Parley does not do")
	for _, problem := range append(oddRows(rows), oddRows(without)...) {
		t.Error(problem)
	}
	for text, want := range map[string]int{
		"|id|a|\n|-|-|\n|X|1|\n|Y|2|\n\n|id|\n|-|\n|Z|\n": 0, "|id|a|\n|-|-|\n|X|1|\n|X|2|\n": 1, "|id|a|\n|-|-|\n|X|\n": 1,
	} {
		if got := oddRows(text); len(got) != want {
			t.Errorf("%q: %q; want %v", text, got, want)
		}
	}
}

// oddRows returns what is wrong with the rows of the tables in text.
func oddRows(text string) (problems []string) {
	seen, head := map[string]bool{}, 0
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 3 {
			head = 0
			continue
		}
		id := strings.TrimSpace(cells[1])
		switch {
		case head == 0:
			head = len(cells)
			continue
		case strings.Trim(id, "-: ") == "":
			continue
		case seen[id]:
			problems = append(problems, id+" has two rows")
		case len(cells) != head:
			problems = append(problems, fmt.Sprintf("%s has %d cells, want %d", id, len(cells)-2, head-2))
		}
		seen[id] = true
	}
	return problems
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
		if err == nil && strings.HasSuffix(path, ".go") {
			paths = append(paths, path)
		}
		return err
	})
	require.NoError(t, err)
	return paths
}
