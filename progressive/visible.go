package progressive

import (
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// reads is the text of p as people read it.
func (p Part) readable() string {
	if p.Plain != "" {
		return p.Plain
	}
	return p.Text
}

// length counts the runes of parts that the agent says.
func length(parts []Part) (n int) {
	for _, p := range parts {
		n += utf8.RuneCountInString(p.readable()) - p.StatusRunes
	}
	return n
}

// visible counts the characters of s from its first to its last visible one, as people count them, up to enough.
func visible(s string, enough int) (n int) {
	all, state := 0, -1
	for s != "" && n < enough {
		var c string
		c, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		if shows(c) {
			n = all + 1
		}
		if n > 0 {
			all++
		}
	}
	return n
}

// shows reports whether the cluster c is visible.
func shows(c string) bool {
	for _, r := range c {
		if unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.M, r) && !filler(r) {
			return true
		}
	}
	return false
}

// filler names the letters and symbols that are drawn as nothing.
func filler(r rune) bool {
	switch r {
	case '\u115F', '\u1160', '\u3164', '\uFFA0', '\u2800':
		return true
	}
	return false
}
