package xmlform

import "unicode/utf8"

// sink collects text for users, without the space around it. Space is held back until text follows, as it may be the
// end.
type sink struct {
	trim  bool // the space around each block is removed, and an empty line separates it from the next
	joins bool // the output is empty so far, and the space before the first text belongs to it
	out   []byte
	space []byte // held back: it may be the end
	open  bool   // the output has text of this block
	any   bool   // the output has text
	hold  bool   // out is kept to the end
	code  code
}

// put adds a byte.
func (t *sink) put(b byte) {
	t.code.feed(b)
	switch {
	case isSpace(b) && !t.open:
		if !t.joins && (b == '\n' || t.trim) {
			t.space = t.space[:0]
		} else {
			t.space = append(t.space, b) // an indent
		}
		return
	case isSpace(b) && t.trim:
		t.space = append(t.space, b)
		return
	case !t.open && t.any && t.trim:
		t.out = append(t.out, "\n\n"...)
	}
	t.out = append(append(t.out, t.space...), b)
	t.space = t.space[:0]
	t.open, t.any, t.joins = true, true, false
}

func (t *sink) write(s string) {
	for i := range len(s) {
		t.put(s[i])
	}
}

// end ends a block.
func (t *sink) end() {
	if t.trim {
		t.open = false
	}
	t.space = t.space[:0]
	t.code = code{}
}

// take returns and removes the certain text, unless it is held.
func (t *sink) take() string {
	if t.hold {
		return ""
	}
	s := string(t.out)
	t.out = t.out[:0]
	return s
}

// release returns the held text.
func (t *sink) release() string {
	if !t.hold {
		return ""
	}
	t.hold = false
	return t.take()
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// runes makes whole characters of pieces that may end within one. Bytes that are no UTF-8 become U+FFFD, neighbors
// together, and NUL is left out, because PostgreSQL can't store it. The result is the same wherever the pieces end.
type runes struct {
	held   []byte
	broken bool // the last was none
}

// whole returns the complete characters.
func (r *runes) whole(piece string) []byte {
	r.held = append(r.held, piece...)
	out := make([]byte, 0, len(r.held))
	for len(r.held) > 0 && utf8.FullRune(r.held) {
		out = r.take(out)
	}
	return out
}

// rest returns the bytes that never became a complete character.
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
