package xmlform

// sink collects text for people, without the space around it. Space is held back until something follows, as it may be
// the end.
type sink struct {
	trim  bool // the space around each block is removed, and an empty line separates it from the next
	joins bool // nothing is out, and the space before what comes first belongs to it
	out   []byte
	space []byte // held back: it may be the end
	open  bool   // something of this block is out
	any   bool   // something is out
	hold  bool   // out is kept to the end
	code  code
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

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

// take returns what is certain, unless it is held, and forgets it.
func (t *sink) take() string {
	if t.hold {
		return ""
	}
	s := string(t.out)
	t.out = t.out[:0]
	return s
}

// release returns what was held.
func (t *sink) release() string {
	if !t.hold {
		return ""
	}
	t.hold = false
	return t.take()
}
