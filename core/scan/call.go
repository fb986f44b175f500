package scan

import "slices"

// written is a call that a model writes as text: <tool_call>{…}</tool_call>, <function=NAME>…</function>, or
// <actions><action …>…</action></actions>. What begins otherwise is text.
type written struct {
	tag  tag
	raw  []byte
	body bool // it goes on as a call does
	json object
	left int    // closers that may yet turn out to stand in a string
	tail string // of a closer that was cut off
	top  bool   // it stands at the top level of the form that was asked for
}

func (c *written) on() bool { return c.tag.name != "" }

// beginCall begins one, if t does.
func (s *Scanner) beginCall(t tag) bool {
	switch {
	case s.field != "" || s.inForm(t.name) || !s.calling(t):
		return false
	case t.close: // left over
		s.result.Odd++
		if s.calls.on() {
			s.calls.raw = append(s.calls.raw, t.raw...)
		}
		return true
	}
	s.call = written{tag: t, raw: []byte(t.raw), left: 8, top: s.top()}
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
		s.endedCall(calls)
	} else if c.left--; !c.json.str || c.left == 0 {
		s.giveBack()
	}
}

// giveBack shows what is no call.
func (s *Scanner) giveBack() {
	raw := string(s.call.raw) + s.call.tail
	s.call = written{}
	s.giveBackCalls()
	s.write(raw)
}

// endCall is the end within a call. One that is whole but for its closer counts. Of another one nothing is done, nor of those
// before it: the answer is not whole.
func (s *Scanner) endCall() {
	switch {
	case !s.call.on():
	case !s.call.body:
		s.giveBack()
	default:
		calls, ok := s.parseWritten()
		ok = ok && s.call.tag.name != actionsField && s.call.json.whole()
		switch s.result.Odd++; {
		case ok:
			s.endedCall(calls)
		case s.call.top || s.permits(nil, string(s.calls.raw)+string(s.call.raw)):
			s.lose(len(s.calls.raw) + len(s.call.raw))
			s.call, s.calls = written{}, whole{}
		default:
			s.giveBack()
		}
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
	if !c.on() && (s.opt.Tags || s.opt.Known == nil || s.again || s.text.any || s.call.on() || s.calls.on() || b != '{' && b != '`') {
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
func (s *Scanner) endBare(acts bool) {
	raw := string(s.bare.raw)
	switch {
	case !s.bare.on():
	case !s.bare.sure || acts:
		s.endBareAsText()
	case !s.bare.json.whole():
		if !s.permits(nil, raw) {
			s.endBareAsText()
			return
		}
		s.lose(len(raw))
		s.bare = bare{}
	default:
		calls, ok := parseJSONCalls(unfenced(raw))
		if !ok || !s.permits(calls, raw) {
			s.endBareAsText()
			return
		}
		s.result.Calls = append(s.result.Calls, calls...)
		s.bare = bare{}
	}
}
