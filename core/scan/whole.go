package scan

import "slices"

// whole holds calls that were written as text and are the whole answer so far. They are decided about at the end: what a model
// quotes is no call.
type whole struct {
	raw   []byte // as they were written, with the space between them
	calls []Call
}

func (w *whole) on() bool { return len(w.calls) > 0 }

// top reports whether the reader stands at the top level of the form that was asked for, where calls count.
func (s *Scanner) top() bool { return s.opt.Tags && s.form == within && s.field == "" && !s.mid }

// calling reports whether t, outside of all fields, begins a call that was written as text or is what is left over of one. That
// is possible at the top level of a form, and where nothing but such calls has been said.
func (s *Scanner) calling(t tag) bool {
	alone := !s.text.any && !s.result.Rooted && blank(s.lead)
	switch {
	case s.opt.Known == nil || !slices.Contains(callTags(), t.name):
		return false
	case t.close:
		return s.calls.on() || s.top() && len(s.result.Calls) > 0
	case t.alone || t.name == actionTag || t.name == parameterTag || t.name == functionTag && !s.opt.Known(t.value):
		return false
	}
	return alone || s.top()
}

func blank(text []byte) bool {
	return !slices.ContainsFunc(text, func(b byte) bool { return !isSpace(b) })
}

// endedCall takes a call that is complete.
func (s *Scanner) endedCall(calls []Call) {
	c := s.call
	s.call = written{}
	if c.top {
		s.result.Calls = append(s.result.Calls, calls...)
		return
	}
	s.calls.raw = append(append(s.calls.raw, c.raw...), c.tail...)
	s.calls.calls = append(s.calls.calls, calls...)
}

// goesOn reports whether the answer may still be nothing but calls with t.
func (s *Scanner) goesOn(t tag) bool {
	return slices.Contains(thinkTags(), t.name) && !s.inForm(t.name) && !t.alone || !s.inForm(t.name) && s.calling(t)
}

// afterCall takes a byte that follows calls outside of all fields, unless it makes them text.
func (s *Scanner) afterCall(b byte) bool {
	if !s.calls.on() || s.field != "" {
		return false
	}
	if isSpace(b) {
		s.calls.raw = append(s.calls.raw, b)
		return true
	}
	s.giveBackCalls()
	return false
}

// giveBackCalls shows the calls as the text that they are part of.
func (s *Scanner) giveBackCalls() {
	raw := string(s.calls.raw)
	s.calls = whole{}
	s.write(raw)
}

// endWhole decides about the calls at the end. Acts says that the model has asked for actions in another way too.
func (s *Scanner) endWhole(acts bool) {
	switch {
	case !s.calls.on():
	case acts || !s.permits(s.calls.calls, string(s.calls.raw)):
		s.giveBackCalls()
	default:
		s.result.Calls = append(s.result.Calls, s.calls.calls...)
		s.calls = whole{}
	}
}

func (s *Scanner) permits(calls []Call, raw string) bool {
	return s.opt.Permit != nil && s.opt.Permit(calls, raw)
}
