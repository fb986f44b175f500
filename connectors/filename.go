package connectors

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const longestName = 180 // bytes; file systems allow 255

// FileName makes name safe for a platform: at most 180 bytes on one line, without header separators and directories. It
// also removes bidirectional control characters, which can disguise a file's extension.
func FileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`"\/`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if cut := len(name) - longestName; cut > 0 {
		for !utf8.RuneStart(name[cut]) {
			cut++
		}
		// The end is kept, because the extension is there.
		name = name[cut:]
	}
	if strings.Trim(name, "_. ") == "" {
		return "file"
	}
	return name
}
