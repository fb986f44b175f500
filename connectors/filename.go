package connectors

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const longestName = 180 // bytes; file systems take 255

// FileName is name as a platform gets it: at most 180 bytes on one line, which end nothing in a header and name no
// directory (SE-05). Signs that turn the direction of reading go too: they hide what a file really is.
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
		name = name[cut:] // its end says of what kind it is
	}
	if strings.Trim(name, "_. ") == "" {
		return "file"
	}
	return name
}
