package xmlform

import "slices"

// written is a call that a model writes as text: <tool_call>{…}</tool_call>, <function=NAME>…</function>, or
// <actions><action …>…</action></actions>. Other beginnings are text. The zero value is no call.
type written struct {
	tag  tag
	raw  []byte
	body bool // it continues as a call does
	json object
	// left is the number of closers that may yet turn out to be inside a string. It bounds the memory for a call that
	// never ends.
	left int
	tail string // of a closer that was truncated
	top  bool   // it is at the top level of the requested form
}

func (c *written) on() bool { return c.tag.name != "" }

// beginCall begins a call, if t is the beginning of one. It reports whether it took t.
func (cr *callReader) beginCall(t tag) bool {
	switch {
	case cr.s.field != "" || cr.s.inForm(t.name) || !cr.calling(t):
		return false
	case t.close: // left over
		cr.s.result.Odd++
		if cr.calls.on() {
			cr.calls.raw = append(cr.calls.raw, t.raw...)
		}
		return true
	}
	cr.call = written{tag: t, raw: []byte(t.raw), left: 8, top: cr.s.top()}
	return true
}

// inCall takes a byte of a call. It returns false if the byte shows that there is no call; the collected bytes are then
// text again.
func (cr *callReader) inCall(b byte) bool {
	c := &cr.call
	if !c.body && !isSpace(b) {
		if b != '{' && (b != '[' || c.tag.name == functionTag) || c.tag.name == actionsField {
			cr.giveBack()
			return false
		}
		c.body = true
	}
	c.raw = append(c.raw, b)
	c.json.feed(b)
	return true
}

// inCallTag takes a tag within a call: it continues the call, ends it, or shows that there is none.
func (cr *callReader) inCallTag(t tag) {
	c := &cr.call
	ends := t.close && t.name == c.tag.name
	switch goes := t.name == functionTag && c.tag.name != actionsField || t.name == parameterTag && c.tag.name == functionTag ||
		t.name == actionTag && c.tag.name == actionsField; {
	case c.body:
	case goes && !t.close || ends && t.name == functionTag:
		c.body = true
	default:
		cr.giveBack()
		cr.s.found(t)
		return
	}
	c.raw = append(c.raw, t.raw...)
	if !ends {
		return
	}
	if calls, ok := cr.parseWritten(); ok {
		cr.endedCall(calls)
	} else if c.left--; !c.json.str || c.left == 0 {
		cr.giveBack()
	}
}

// giveBack passes on the collected bytes as text, because they are no call.
func (cr *callReader) giveBack() {
	raw := string(cr.call.raw) + cr.call.tail
	cr.call = written{}
	cr.giveBackCalls()
	cr.s.write(raw)
}

// endCall handles an output that ends within a call. A call that is complete but for its closer counts. Otherwise it is
// dropped, together with those before it, since the answer is not complete; or it becomes text, if it may not be
// dropped.
func (cr *callReader) endCall() {
	switch {
	case !cr.call.on():
	case !cr.call.body:
		cr.giveBack()
	default:
		calls, ok := cr.parseWritten()
		ok = ok && cr.call.tag.name != actionsField && cr.call.json.whole()
		switch cr.s.result.Odd++; {
		case ok:
			cr.endedCall(calls)
		case cr.call.top || cr.permits(nil, string(cr.calls.raw)+string(cr.call.raw)):
			cr.s.lose(len(cr.calls.raw) + len(cr.call.raw))
			cr.call, cr.calls = written{}, whole{}
		default:
			cr.giveBack()
		}
	}
}

// parseWritten reads the call. The form with <actions> occurs in other texts too, so there a call counts only with a
// known name.
func (cr *callReader) parseWritten() ([]Call, bool) {
	calls, ok := parseWritten(cr.call.tag, string(cr.call.raw))
	if cr.call.tag.name == actionsField {
		ok = ok && slices.ContainsFunc(calls, func(c Call) bool { return cr.s.opt.Known(c.Name) })
	}
	return calls, ok && len(calls) > 0
}

// bare is an answer that consists only of a call in JSON, in a block of code or without. Models without native calls
// write that.
type bare struct {
	raw  []byte
	sure bool // it names an existing action
	json object
}

func (c *bare) on() bool { return len(c.raw) > 0 }

// maxBare is the maximum length of the beginning of such a call before the name, in bytes.
const maxBare = 200

// inBare takes a byte that is, or may be, a part of such a call, and reports whether it did. Such a call must be at the
// very beginning of the answer, and name a known action within maxBare bytes: up to there, text is held back from
// users.
func (cr *callReader) inBare(b byte) bool {
	c := &cr.bare
	if !c.on() && (cr.s.opt.Tags || cr.s.opt.Known == nil || cr.s.again || cr.s.text.any || cr.call.on() || cr.calls.on() || b != '{' && b != '`') {
		return false
	}
	if c.json.whole() && !isSpace(b) && b != '`' {
		cr.endBareAsText()
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
	c.sure = state == complete && cr.s.opt.Known(name)
	if !c.sure && state != growing || len(c.raw) > maxBare {
		cr.endBareAsText()
	}
	return true
}

// endBareAsText shows the collected bytes as text, because they are no call.
func (cr *callReader) endBareAsText() {
	raw := string(cr.bare.raw)
	cr.bare = bare{}
	cr.s.text.write(raw)
}

// endBare decides at the end of the output. acts is that of Close.
func (cr *callReader) endBare(acts bool) {
	raw := string(cr.bare.raw)
	switch {
	case !cr.bare.on():
	case !cr.bare.sure || acts:
		cr.endBareAsText()
	case !cr.bare.json.whole():
		if !cr.permits(nil, raw) {
			cr.endBareAsText()
			return
		}
		cr.s.lose(len(raw))
		cr.bare = bare{}
	default:
		calls, ok := parseJSONCalls(unfenced(raw))
		if !ok || !cr.permits(calls, raw) {
			cr.endBareAsText()
			return
		}
		cr.s.result.Calls = append(cr.s.result.Calls, calls...)
		cr.bare = bare{}
	}
}

// whole contains calls that were written as text and are the whole answer so far. They are decided at the end: if any
// text follows, they may be a quote, and become text again.
type whole struct {
	raw   []byte // as they were written, with the space between them
	calls []Call
}

func (w *whole) on() bool { return len(w.calls) > 0 }

// top reports whether the reader is at the top level of the requested form, where calls count.
func (s *Scanner) top() bool { return s.opt.Tags && s.form == within && s.field == "" && !s.mid }

// calling reports whether t, a tag of calls outside of all fields, begins a call that was written as text, or remains of one. That is
// possible at the top level of a form, and while the output consists only of such calls.
func (cr *callReader) calling(t tag) bool {
	alone := !cr.s.text.any && !cr.s.result.Rooted && blank(cr.s.lead)
	switch {
	case t.close:
		return cr.calls.on() || cr.s.top() && len(cr.s.result.Calls) > 0
	case t.alone || t.name == actionTag || t.name == parameterTag || t.name == functionTag && !cr.s.opt.Known(t.value):
		return false
	}
	return alone || cr.s.top()
}

func blank(text []byte) bool {
	return !slices.ContainsFunc(text, func(b byte) bool { return !isSpace(b) })
}

// endedCall takes a complete call: at the top level of the form it counts, elsewhere it waits for the end.
func (cr *callReader) endedCall(calls []Call) {
	c := cr.call
	cr.call = written{}
	if c.top {
		cr.s.result.Calls = append(cr.s.result.Calls, calls...)
		return
	}
	cr.calls.raw = append(append(cr.calls.raw, c.raw...), c.tail...)
	cr.calls.calls = append(cr.calls.calls, calls...)
}

// goesOn reports whether the answer may still consist only of calls after t.
func (cr *callReader) goesOn(t tag) bool {
	thinks := slices.Contains(thinkTags(), t.name)
	return !cr.s.inForm(t.name) && (thinks && !t.alone || !thinks && cr.calling(t))
}

// afterCall takes a byte that follows calls outside of all fields, if it is a space. Anything else makes the calls
// text.
func (cr *callReader) afterCall(b byte) bool {
	if !cr.calls.on() || cr.s.field != "" {
		return false
	}
	if isSpace(b) {
		cr.calls.raw = append(cr.calls.raw, b)
		return true
	}
	cr.giveBackCalls()
	return false
}

// giveBackCalls passes the calls on as the text that contains them.
func (cr *callReader) giveBackCalls() {
	raw := string(cr.calls.raw)
	cr.calls = whole{}
	cr.s.write(raw)
}

// endWhole decides about the calls at the end. Acts reports whether the model has requested actions in another way too:
// then these are text.
func (cr *callReader) endWhole(acts bool) {
	switch {
	case !cr.calls.on():
	case acts || !cr.permits(cr.calls.calls, string(cr.calls.raw)):
		cr.giveBackCalls()
	default:
		cr.s.result.Calls = append(cr.s.result.Calls, cr.calls.calls...)
		cr.calls = whole{}
	}
}

// permits reports whether Options.Permit agrees; without it nothing is permitted.
func (cr *callReader) permits(calls []Call, raw string) bool {
	return cr.s.opt.Permit != nil && cr.s.opt.Permit(calls, raw)
}
