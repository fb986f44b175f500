package xmlform

import "strings"

// fieldOf returns the field that a tag of the form opens, or "". Models write some of them in several ways.
func fieldOf(name string) string {
	switch name {
	case thoughtField, actionsField, provideField, textField, finishField, paramsField:
		return name
	case "parameters":
		return paramsField
	case actionTag:
		return actionsField
	}
	return ""
}

// structure handles a tag of the form, depending on the current field. Unused attributes are counted as lost.
func (s *Scanner) structure(t tag) {
	s.result.Lost += t.extra
	if t.name == actionTag {
		s.result.Lost -= t.extra // its name, which is read
	}
	switch {
	case s.field == "":
		s.outside(t)
	case s.field == textField:
		s.inText(t)
	case s.field == thoughtField:
		s.thinking.inThought(t)
	default:
		s.inRaw(t)
	}
	s.closed = t.close && t.name == rootTag && s.field == ""
}

// outside handles a tag outside of all fields. In the middle of a line it may be a word, unless the form has begun.
func (s *Scanner) outside(t tag) {
	field, mid := fieldOf(t.name), s.mid
	switch {
	case t.name == rootTag:
		s.thinking.enterForm(t)
		s.begin()
		s.text.end()
	case t.close:
		s.result.Odd++
	case s.mid && !s.result.Rooted && !s.wrapping():
		s.inner = inner{field, t.name, t.raw, nil}
	default:
		s.thinking.enterForm(t)
		doubt := asks(field) && (mid || s.form != within)
		if !doubt {
			s.begin()
		}
		s.enter(t)
		s.doubt = doubt
	}
}

// inText handles a tag within <text>. A <text> in the middle of a line is part of the text, and its closer too.
func (s *Scanner) inText(t tag) {
	switch {
	case t.close && t.name == textField && s.depth > 0:
		s.depth--
		s.write(t.raw)
	case t.close && (t.name == textField || t.name == rootTag):
		s.leave()
	case t.close:
		s.result.Odd++
	case t.name == textField && s.mid:
		s.depth++
		s.write(t.raw)
	case t.name == textField || t.name == rootTag && !s.mid:
		s.result.Odd++
	case fieldOf(t.name) == "":
		s.write(t.raw)
	case s.mid || asks(fieldOf(t.name)):
		s.inner = inner{fieldOf(t.name), t.name, t.raw, nil}
	default:
		s.form = over // or the text continues, and quotes a form
		s.enter(t)
	}
}

// inThought handles a tag within <thought>. A new field at the beginning of a line ends the thought: models forget its
// closer.
func (tr *thoughtReader) inThought(t tag) {
	switch field := fieldOf(t.name); {
	case t.close && (t.name == thoughtField || t.name == rootTag):
		tr.s.leave()
	case t.close || field == "" || field == thoughtField || field == paramsField:
		tr.s.write(t.raw)
	case tr.s.mid || asks(field):
		tr.s.inner = inner{field, t.name, t.raw, nil}
	default:
		tr.s.result.Odd++
		tr.s.form = over // or the thought continues, and quotes a form
		tr.s.enter(t)
	}
}

// inRaw handles a tag within a field that is parsed at its end. Only the field's own closer and that of the form end
// it; a known field at its top level means that the closer was forgotten.
func (s *Scanner) inRaw(t tag) {
	field := fieldOf(t.name)
	switch {
	case t.close && t.name == s.closer:
		if s.closer == actionTag {
			s.write(t.raw)
		}
		s.leaveBy(t.raw)
	case t.close && t.name == rootTag:
		s.result.Odd++
		s.leave()
		s.form = over
	case field == paramsField && s.field == actionsField:
		s.nested = !t.close && !t.alone
		s.json = object{}
		s.write(t.raw)
	case t.close || s.nested || t.name == actionTag || field == "":
		s.write(t.raw)
	default:
		s.result.Odd++
		s.enter(t)
	}
}

// begin records that the form begins here. The output before it is not part of the answer.
func (s *Scanner) begin() {
	s.wrapping()
	s.leading, s.result.Rooted = false, true
	s.text.code, s.mid = code{}, false
}

// wrapping reports whether the form is in a block of code, and removes the block's opening fence from the output before
// it. The closing fence is removed by say.
func (s *Scanner) wrapping() bool {
	at, fenced := s.fence()
	if fenced {
		s.lead, s.wrapped = s.lead[:at], 3
	}
	return fenced
}

// fence returns where the block of code begins that contains the form, in the output before the form, if there is one.
func (s *Scanner) fence() (at int, fenced bool) {
	head := strings.TrimRight(string(s.lead), " \t\r\n")
	line := head[strings.LastIndexByte(head, '\n')+1:]
	if !s.leading || !strings.HasPrefix(line, "```") || strings.Contains(line[3:], "`") {
		return len(s.lead), false
	}
	return len(head) - len(line), true
}

// enter begins a field, and ends the one before, whose closer is missing then.
func (s *Scanner) enter(t tag) {
	if s.field != "" {
		s.leave()
	}
	s.field, s.closer, s.depth, s.mid = fieldOf(t.name), t.name, 0, false
	if !s.text.open {
		s.text.space = s.text.space[:0]
	}
	s.raw, s.json, s.nested = s.raw[:0], object{}, false
	s.doubt, s.open = false, t.raw
	if s.field == thoughtField && len(s.thoughts) > 0 {
		s.thoughts = append(s.thoughts, '\n')
	}
	if t.name == actionTag {
		s.write(t.raw)
	}
	if t.alone {
		s.leave()
	}
}

// leave ends the field.
func (s *Scanner) leave() { s.leaveBy("") }

// leaveBy ends the field with this closer.
func (s *Scanner) leaveBy(closer string) {
	field, raw := s.field, string(s.raw)
	s.field, s.closer, s.mid = "", "", false
	s.raw = s.raw[:0]
	if s.doubt {
		s.doubt = false
		if isTag(s.open[1:], actionTag) { // raw is all of it
			s.settleDoubt(field, "", raw, "")
		} else {
			s.settleDoubt(field, s.open, raw, closer)
		}
		return
	}
	if field == textField {
		s.text.end()
		return
	}
	s.read(field, raw)
}

// read parses the content of a field. An unreadable field is counted as lost.
func (s *Scanner) read(field, raw string) {
	switch field {
	case thoughtField:
	case textField:
		s.text.end()
		s.text.write(raw)
		s.text.end()
	case actionsField:
		calls, odd, lost := parseActions(raw)
		s.result.Calls = append(s.result.Calls, calls...)
		s.result.Odd += odd
		s.result.Lost += lost
		if s.opt.Holds != nil && !s.text.any {
			s.text.hold = s.opt.Holds(s.result.Calls)
		}
	case provideField:
		s.result.Providers = append(s.result.Providers, parseList(raw)...)
	case paramsField:
		// Parameters without a call are dropped instead of guessed about.
		if !attach(s.result.Calls, raw) {
			s.result.Lost += len(strings.TrimSpace(raw))
		}
	case finishField:
		// Models write several words for true and false. Another one means neither, and is counted as lost.
		word := strings.ToLower(strings.TrimSpace(raw))
		s.result.Finish = word == "true" || word == "yes"
		if !s.result.Finish && word != "false" && word != "no" && word != "" {
			s.result.Lost += len(word)
		}
	}
}

// foundInside handles a tag after one in the middle of a line. The closer that comes first decides the meaning of that
// one: a field of its own, or a word of the field around it.
func (s *Scanner) foundInside(t tag) {
	in := s.inner
	switch {
	case asks(in.field) && t.close && t.name == in.name:
		s.inner = inner{}
		s.result.Odd++
		s.settleDoubt(in.field, in.open, string(in.raw), t.raw)
	case asks(in.field) && (t.close && t.name == rootTag || s.field == thoughtField && !t.close && t.name == textField && t.bol):
		s.inner = inner{}
		s.result.Odd++
		s.settleDoubt(in.field, in.open, string(in.raw), "")
		s.structure(t)
	case t.close && (t.name == in.name || t.name == rootTag):
		s.inner = inner{}
		s.result.Odd++
		s.result.Rooted = true
		if in.field == thoughtField {
			s.thoughts = append(append(s.thoughts, '\n'), in.raw...)
		}
		if s.leading { // the output before it belongs to the answer
			s.release()
		}
		outer, code := s.field, s.text.code
		s.read(in.field, string(in.raw))
		if outer == textField && in.field != textField {
			s.text.code = code
		}
		if t.name == rootTag {
			s.structure(t)
		}
	case t.close && s.field != "" && t.name == s.closer:
		s.inner = inner{}
		s.write(in.open + string(in.raw))
		s.structure(t)
	default:
		s.write(t.raw)
	}
}

// endInner decides about a tag in the middle of a line when neither closer has come.
func (s *Scanner) endInner() {
	in := s.inner
	s.inner = inner{}
	switch {
	case in.field == "":
	case s.field == "" || s.field == thoughtField || asks(in.field): // without the form it was a word
		s.write(in.open + string(in.raw))
	case in.field == thoughtField:
		s.thoughts = append(append(s.thoughts, '\n'), in.raw...)
		s.result.Odd++
	default:
		s.lose(len(in.raw))
	}
}

// lose records that n bytes were dropped because the output was cut off within them.
func (s *Scanner) lose(n int) {
	s.result.Odd++
	s.result.Lost += n
	s.result.Cut = true
}

// endField handles an output that ends within a field. The text and thoughts so far count; no action counts, because it
// is unknown which of them are complete.
func (s *Scanner) endField(acts bool) {
	switch s.field {
	case "":
		if s.wrapped > 0 && s.wrapped < 3 {
			s.wrapped = 0
		}
	case thinkField:
		s.thinking.endThinking(acts)
	case textField:
		s.result.Odd++
	case thoughtField:
		s.result.Odd++
	case paramsField, actionsField:
		if s.doubt {
			s.leave()
			return
		}
		s.result.Calls = nil // it is unknown which of them are complete
		s.lose(len(s.raw))
	default:
		s.lose(len(s.raw))
	}
}

// endLead decides about the output before the form: it is the answer if there is no other text, and otherwise talk
// about the answer, which belongs to the thoughts.
func (s *Scanner) endLead() {
	lead := strings.TrimSpace(string(s.lead))
	switch {
	case lead == "":
	case !s.text.any && (s.leading || len(s.result.Calls) == 0 && len(s.thoughts) == 0):
		s.release()
	default:
		s.thoughts = append([]byte(lead+"\n"), s.thoughts...)
	}
}
