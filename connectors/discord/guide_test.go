package discord_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"parley/core/chat"
	"parley/internal/require"
)

// The guide's table has each command, and who sees its answer in a server. In a direct message, that is the user alone.
func TestGuideListsEveryCommand(t *testing.T) {
	page, err := os.ReadFile("../../docs/discord.md")
	require.NoError(t, err)
	for _, c := range chat.Commands() {
		row := regexp.MustCompile("(?m)^\\| [^|]*`/" + string(c.Name) + "`[^|]*\\|.*\\| (all|you) \\|$").FindSubmatch(page)
		want := "all"
		if c.Private || c.Name.Direct() {
			want = "you"
		}
		if row == nil || string(row[1]) != want {
			t.Errorf("docs/discord.md says of /%s: %q; want a row that ends with %q", c.Name, row, want)
			continue
		}
		if c.Name.Direct() && !strings.Contains(string(row[0]), "in a direct message") {
			t.Errorf("docs/discord.md does not say that /%s is for direct messages", c.Name)
		}
	}
}
