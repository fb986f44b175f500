package core

import (
	"strings"
	"unicode/utf8"
)

// clean gives text that every store, platform and JSON reader can hold: valid UTF-8 without NUL. A message that
// couldn't be stored would come again for ever (IN-11).
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}
