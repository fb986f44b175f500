package event_test

import (
	"fmt"
	"os"
	"parley/internal/require"
	"regexp"
	"strings"
	"testing"
)

// The page of the events has all of them, under both names.
func TestEventsAreDocumented(t *testing.T) {
	source := require.Value(os.ReadFile("event.go"))(t)
	page := require.Value(os.ReadFile("../../docs/events.md"))(t)
	names := regexp.MustCompile(`func \((\w+)\) event\(\) string +\{ return "(\w+)" \}`).FindAllStringSubmatch(string(source), -1)
	if rows := strings.Count(string(page), "\n| `"); len(names) == 0 || rows != len(names) {
		t.Errorf("%d rows for %d events", rows, len(names))
	}
	for _, n := range names {
		if !strings.Contains(string(page), fmt.Sprintf("\n| `%s` | `%s` |", n[2], n[1])) {
			t.Errorf("docs/events.md lacks %s, %s", n[2], n[1])
		}
	}
}
