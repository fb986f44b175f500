package xmlform

import "unicode/utf8"

// runes makes whole characters of pieces that may end within one. Bytes that are no UTF-8 become U+FFFD, neighbors
// together, and NUL is left out, because PostgreSQL can't store it. The result is the same wherever the pieces end.
type runes struct {
	held   []byte
	broken bool // the last was none
}

// whole returns what is complete.
func (r *runes) whole(piece string) []byte {
	r.held = append(r.held, piece...)
	out := make([]byte, 0, len(r.held))
	for len(r.held) > 0 && utf8.FullRune(r.held) {
		out = r.take(out)
	}
	return out
}

// rest returns what never became complete.
func (r *runes) rest() (out []byte) {
	for len(r.held) > 0 {
		out = r.take(out)
	}
	return out
}

// take moves the first character of held to out.
func (r *runes) take(out []byte) []byte {
	c, n := utf8.DecodeRune(r.held)
	r.held = r.held[n:]
	again := r.broken
	r.broken = c == utf8.RuneError && n == 1
	if c == 0 || r.broken && again {
		return out
	}
	return utf8.AppendRune(out, c)
}
