package scan

import (
	"slices"
	"strings"
)

// think begins what a model thinks aloud before its answer (LM-10).
func (s *Scanner) think(t tag) {
	if len(s.thoughts) > 0 {
		s.thoughts = append(s.thoughts, '\n')
	}
	s.back, s.text.joins = s.field, false
	s.field, s.closer, s.depth, s.mid = thinkField, t.name, 1, false
	s.start, s.turn = len(s.thoughts), -1
}

// foundThinking takes a tag within thoughts. One of the same name counts as nested where it begins a line, and is a
// word elsewhere.
func (s *Scanner) foundThinking(t tag) {
	switch {
	case t.name == s.closer && t.close:
		if s.depth--; s.depth == 0 {
			s.resume()
			return
		}
		s.write(t.raw)
		if s.turn < 0 {
			s.turn = len(s.thoughts)
		}
	case t.name == s.closer && t.bol && !t.alone:
		s.depth++
		s.write(t.raw)
	case s.opt.Tags && t.name == rootTag && !t.close && t.bol: // the closer is missing
		s.result.Odd++
		s.form = over // or the thoughts go on, and quote a form
		s.resume()
		s.structure(t)
	default:
		s.write(t.raw)
	}
}

// resume goes on with the answer.
func (s *Scanner) resume() {
	s.field, s.back = s.back, ""
	s.closer, s.depth, s.mid = "", 0, false
	if s.field == textField {
		s.closer = textField
	}
}

// endThinking is the end within thoughts that never ended. After a closer it is the answer; and if there is no other,
// all of it is.
func (s *Scanner) endThinking(acts bool) {
	from := s.start
	if s.turn >= 0 {
		from = s.turn
	}
	s.result.Odd++
	s.field = ""
	if acts || s.again || s.text.any || s.calls.on() || len(s.result.Calls) > 0 {
		return
	}
	said := strings.TrimSpace(string(s.thoughts[from:]))
	s.thoughts = s.thoughts[:from]
	again := New(s.opt)
	again.again, again.form = true, over
	text := again.Write(said)
	rest, r := again.Close(false)
	s.text.write(text + rest)
	s.thoughts = append(s.thoughts, r.Thought...)
	r.Thought, r.Odd, r.Lost = "", r.Odd+s.result.Odd, r.Lost+s.result.Lost
	r.Calls = slices.Concat(s.result.Calls, r.Calls)
	r.Providers = slices.Concat(s.result.Providers, r.Providers)
	s.result = r
}
