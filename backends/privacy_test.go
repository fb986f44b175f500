package backends

import (
	"os"
	"parley/internal/require"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/privacy.md says of every column of every table of both stores what a deletion does with it, and names no others.
func TestPrivacyPageNamesEveryColumn(t *testing.T) {
	page := require.Value(os.ReadFile("../docs/privacy.md"))(t)
	_, table, _ := strings.Cut(string(page), "## Every column")
	table, _, _ = strings.Cut(table, "\n## ")
	named := map[string]bool{}
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		if strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%s: the page does not say what a deletion does", line)
		}
		for _, column := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[2], -1) {
			named[strings.Trim(cells[1], " `")+"."+column[1]] = true
		}
	}
	stored := map[string]bool{}
	for _, columns := range storedColumns(t) {
		for _, name := range columns {
			stored[name] = true
		}
	}
	for name := range stored {
		if !named[name] {
			t.Errorf("docs/privacy.md does not name the column %s; add it to the table, with the effect of a deletion", name)
		}
	}
	for name := range named {
		if !stored[name] {
			t.Errorf("docs/privacy.md names the column %s, which no store has", name)
		}
	}
	if !slices.Contains(storedColumns(t)["sqlite"], "memories.text") {
		t.Error("the columns of SQLite were not read")
	}
}
