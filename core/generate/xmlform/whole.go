package xmlform

import "slices"

// whole contains calls that were written as text and are the whole answer so far. What becomes of them is decided at
// the end: if any text follows, they may be a quote, and become text again.
type whole struct {
	raw   []byte // as they were written, with the space between them
	calls []Call
}

func (w *whole) on() bool { return len(w.calls) > 0 }

// top reports whether the reader is at the top level of the form that was asked for, where calls count.
func (s *Scanner) top() bool { return s.opt.Tags && s.form == within && s.field == "" && !s.mid }

// calling reports whether t, outside of all fields, begins a call that was written as text or is left over of one. That
// is possible at the top level of a form, and where nothing but such calls has been written.
func (cr *callReader) calling(t tag) bool {
	alone := !cr.s.text.any && !cr.s.result.Rooted && blank(cr.s.lead)
	switch {
	case cr.s.opt.Known == nil || !slices.Contains(callTags(), t.name):
		return false
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

// endedCall takes a call that is complete: at the top level of the form it counts, elsewhere it waits for the end.
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

// goesOn reports whether the answer may still be nothing but calls with t.
func (cr *callReader) goesOn(t tag) bool {
	return slices.Contains(thinkTags(), t.name) && !cr.s.inForm(t.name) && !t.alone || !cr.s.inForm(t.name) && cr.calling(t)
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

// giveBackCalls passes the calls on as the text that they are part of.
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
