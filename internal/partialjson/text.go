package partialjson

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// inside reads on in a string or a name, and returns the rest behind its end.
func (r *Reader) inside(piece string) (rest string) {
	for piece != "" && r.err == nil {
		n := strings.IndexFunc(piece, special)
		if n < 0 {
			n = len(piece)
		}
		r.text.WriteString(piece[:n])
		if piece = piece[n:]; piece == "" {
			return ""
		}
		switch c := piece[0]; {
		case c == '"':
			r.finish()
			return piece[1:]
		case c == '\\':
			piece = r.escape(piece)
		case c < ' ':
			return r.fail(c)
		default:
			piece = r.broken(piece)
		}
	}
	return piece
}

// special reports whether c does not represent itself in a string. An invalid byte is decoded as U+FFFD.
func special(c rune) bool { return c == '"' || c == '\\' || c < ' ' || c == utf8.RuneError }

// broken reads bytes that are no character, unless the rest of one is still to come: pieces can end within a character.
// Invalid bytes become U+FFFD, as in encoding/json.
func (r *Reader) broken(piece string) (rest string) {
	if !utf8.FullRuneInString(piece) {
		r.held = piece
		return ""
	}
	// U+FFFD may also be the original text.
	_, n := utf8.DecodeRuneInString(piece)
	r.text.WriteRune(utf8.RuneError)
	return piece[n:]
}

// finish ends a string or a name.
func (r *Reader) finish() {
	s := r.text.String()
	r.text.Reset()
	if r.at == inName {
		r.open[len(r.open)-1].name = s
		r.at = colon
		return
	}
	r.change(s)
	r.ended()
}

// escape reads one escape, or holds it until it is complete.
func (r *Reader) escape(piece string) (rest string) {
	if len(piece) < 2 {
		r.held = piece
		return ""
	}
	if c := piece[1]; c != 'u' {
		i := strings.IndexByte(`"\/bfnrt`, c)
		if i < 0 {
			return r.fail(c)
		}
		r.text.WriteByte("\"\\/\b\f\n\r\t"[i])
		return piece[2:]
	}
	c, more := unit(piece)
	switch {
	case more:
		r.held = piece
		return ""
	case c < 0:
		r.err = fmt.Errorf("the JSON has the escape %.6q", piece)
		return ""
	case !utf16.IsSurrogate(c):
		r.text.WriteRune(c)
		return piece[6:]
	}
	return r.surrogate(c, piece)
}

// surrogate reads an escape that needs another one behind it; alone it is no character, and becomes U+FFFD as in
// encoding/json.
func (r *Reader) surrogate(first rune, piece string) (rest string) {
	second, more := rune(-1), false
	if first < 0xDC00 {
		second, more = unit(piece[6:])
	}
	if more {
		r.held = piece
		return ""
	}
	c := utf16.DecodeRune(first, second)
	r.text.WriteRune(c)
	if c == utf8.RuneError {
		return piece[6:]
	}
	return piece[12:]
}

// unit returns the code unit of the escape \uXXXX that s begins with, or -1; more reports whether s may still become
// one.
func unit(s string) (c rune, more bool) {
	for i := range min(len(s), 6) {
		switch {
		case i < 2 && s[i] != `\u`[i]:
			return -1, false
		case i >= 2 && !strings.ContainsRune("0123456789abcdefABCDEF", rune(s[i])):
			return -1, false
		}
	}
	if len(s) < 6 {
		return -1, true
	}
	n, _ := strconv.ParseUint(s[2:6], 16, 16) // they are digits
	return rune(n), false
}
