package progressive

import (
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// readable returns the text of p without markup, as people read it.
func (p Part) readable() string {
	if p.Plain != "" {
		return p.Plain
	}
	return p.Text
}

// length returns the number of runes of the answer in parts, without lines about calls.
func length(parts []Part) (n int) {
	for _, p := range parts {
		n += utf8.RuneCountInString(p.readable()) - p.StatusRunes
	}
	return n
}

// visible returns the number of characters of s, as people count them, from its first to its last visible one. It stops
// counting at enough, because it is called for each change of a growing text.
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

// filler reports whether r is one of the letters and symbols that fonts draw as nothing. Platforms count a message of them
// as empty and refuse it.
func filler(r rune) bool {
	switch r {
	case '\u115F', '\u1160', '\u3164', '\uFFA0', '\u2800':
		return true
	}
	return false
}
