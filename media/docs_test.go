package media

import (
	"fmt"
	"os"
	"parley/internal/require"
	"strings"
	"testing"
)

// The table of formats in the docs has every format that this package knows by its name, in the row of its kind, and its limits.
func TestFormatsAreDocumented(t *testing.T) {
	page := require.Value(os.ReadFile("../docs/chatting.md"))(t)
	rows := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " |"); ok && strings.HasPrefix(line, "| ") {
			rows[name] = line
		}
	}
	names := map[kind]string{picture: "images", sound: "sound", film: "films", packed: "documents"}
	for extension, k := range extensions {
		for row, line := range rows {
			if has := strings.Contains(line, "`"+extension+"`"); has != (row == names[k]) {
				t.Errorf("%s in the row %q: %v", extension, row, has)
			}
		}
	}
	for row, limit := range map[string]string{
		"images": fmt.Sprintf("%d MB, %d million pixels", maxPicture>>20, maxPixels/1_000_000), "text": fmt.Sprintf("%d MB", MaxFile>>20),
		"documents": fmt.Sprintf("%d,%03d characters", maxText/1000, maxText%1000), "sound": fmt.Sprintf("%d MB", MaxFile>>20),
	} {
		if !strings.Contains(rows[row], limit) {
			t.Errorf("the row %q does not say %q", row, limit)
		}
	}
}
