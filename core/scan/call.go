package scan

import "slices"

// written is a call that a model writes as text: <tool_call>{…}</tool_call>, <function=NAME>…</function>, or
// <actions><action …>…</action></actions>. What begins otherwise is text.
type written struct {
	tag  tag
	raw  []byte
	body bool // it goes on as a call does
	json object
	left int // closers that may yet turn out to stand in a string
}

func (c *written) on() bool { return c.tag.name != "" }

// beginCall begins one, if t does.
func (s *Scanner) beginCall(t tag) bool {
	switch {
	case s.opt.Known == nil || !slices.Contains(callTags(), t.name):
		return false
	case t.close && len(s.result.Calls) > 0 && !s.inForm(t.name): // left over
		s.result.Odd++
		return true
	case t.close || t.alone || s.inForm(t.name) || t.name == actionTag || t.name == parameterTag:
		return false
	case t.name == functionTag && !s.opt.Known(t.value):
		return false
	}
	if s.leading {
		s.release()
	}
	s.call = written{tag: t, raw: []byte(t.raw), left: 8}
	return true
}

// inCall takes a byte, unless that shows that there is no call.
func (s *Scanner) inCall(b byte) bool {
	c := &s.call
	if !c.body && !isSpace(b) {
		if b != '{' && (b != '[' || c.tag.name == functionTag) || c.tag.name == actionsField {
			s.giveBack()
			return false
		}
		c.body = true
	}
	c.raw = append(c.raw, b)
	c.json.feed(b)
	return true
}

func (s *Scanner) inCallTag(t tag) {
	c := &s.call
	ends := t.close && t.name == c.tag.name
	switch goes := t.name == functionTag && c.tag.name != actionsField || t.name == parameterTag && c.tag.name == functionTag ||
		t.name == actionTag && c.tag.name == actionsField; {
	case c.body:
	case goes && !t.close || ends && t.name == functionTag:
		c.body = true
	default:
		s.giveBack()
		s.found(t)
		return
	}
	c.raw = append(c.raw, t.raw...)
	if !ends {
		return
	}
	if calls, ok := s.parseWritten(); ok {
		s.result.Calls = append(s.result.Calls, calls...)
		s.call = written{}
	} else if c.left--; !c.json.str || c.left == 0 {
		s.giveBack()
	}
}

// giveBack shows what is no call.
func (s *Scanner) giveBack() {
	raw := string(s.call.raw)
	s.call = written{}
	s.write(raw)
}

// endCall is the end within a call. One that is whole but for its closer counts; of another one nothing is done (LM-04).
func (s *Scanner) endCall() {
	switch {
	case !s.call.on():
	case !s.call.body:
		s.giveBack()
	default:
		calls, ok := s.parseWritten()
		ok = ok && s.call.tag.name != actionsField && s.call.json.whole()
		if s.result.Odd++; ok {
			s.result.Calls = append(s.result.Calls, calls...)
		} else {
			s.lose(len(s.call.raw))
		}
		s.call = written{}
	}
}

// parseWritten reads the call. Without a name that is known, only what nothing else looks like counts.
func (s *Scanner) parseWritten() ([]Call, bool) {
	calls, ok := parseWritten(s.call.tag, string(s.call.raw))
	if s.call.tag.name == actionsField {
		ok = ok && slices.ContainsFunc(calls, func(c Call) bool { return s.opt.Known(c.Name) })
	}
	return calls, ok && len(calls) > 0
}

// bare is an answer that is nothing but a call in JSON, in a block of code or without.
type bare struct {
	raw  []byte
	sure bool // it names an action that there is
	json object
}

func (c *bare) on() bool { return len(c.raw) > 0 }

// maxBare is how long the beginning of such a call may be before the name is known, in bytes.
const maxBare = 200

// inBare takes a byte that is, or may be, a part of such a call. That stands at the very beginning of the answer.
func (s *Scanner) inBare(b byte) bool {
	c := &s.bare
	if !c.on() && (s.opt.Tags || s.opt.Known == nil || s.again || s.text.any || s.call.on() || b != '{' && b != '`') {
		return false
	}
	if c.json.whole() && !isSpace(b) && b != '`' {
		s.endBareAsText()
		return false
	}
	c.raw = append(c.raw, b)
	if b != '`' || c.json.depth > 0 {
		c.json.feed(b)
	}
	if c.sure {
		return true
	}
	name, state := bareName(string(c.raw))
	c.sure = state == complete && s.opt.Known(name)
	if !c.sure && state != growing || len(c.raw) > maxBare {
		s.endBareAsText()
	}
	return true
}

func (s *Scanner) endBareAsText() {
	raw := string(s.bare.raw)
	s.bare = bare{}
	s.text.write(raw)
}

// endBare decides at the end.
func (s *Scanner) endBare() {
	switch {
	case !s.bare.on():
	case !s.bare.sure:
		s.endBareAsText()
	case !s.bare.json.whole():
		s.lose(len(s.bare.raw))
		s.bare = bare{}
	default:
		if calls, ok := parseJSONCalls(unfenced(string(s.bare.raw))); ok {
			s.result.Calls = append(s.result.Calls, calls...)
			s.bare = bare{}
		} else {
			s.endBareAsText()
		}
	}
}
