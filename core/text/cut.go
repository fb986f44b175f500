package text

import (
	"strings"
	"unicode/utf8"
)

// CutBytes returns s cut to at most n bytes.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Brief returns s as one line of at most most characters, without invisible ones. It reads no more of s than needed.
func Brief(s string, most int) string {
	cut := false
	if limit := 4 * most; len(s) > limit {
		s, cut = strings.ToValidUTF8(s[:limit], ""), true
	}
	s = strings.Join(strings.Fields(Visible(s)), " ")
	if runes := []rune(s); len(runes) > most {
		s, cut = strings.TrimSpace(string(runes[:most-1])), true
	}
	if cut {
		s += "…"
	}
	return s
}
