package xmlform

import (
	"encoding/json"
	"slices"
	"strings"
)

// think begins reasoning that a model writes before its answer. Some models write it into the text, between tags that
// their provider does not remove.
func (tr *thoughtReader) think(t tag) {
	if len(tr.s.thoughts) > 0 {
		tr.s.thoughts = append(tr.s.thoughts, '\n')
	}
	tr.s.back, tr.s.text.joins = tr.s.field, false
	tr.s.field, tr.s.closer, tr.s.depth, tr.s.mid = thinkField, t.name, 1, false
	tr.s.start, tr.s.turn = len(tr.s.thoughts), -1
}

// foundThinking handles a tag within thoughts. One of the same name counts as nested at the beginning of a line, and is
// a word elsewhere. The beginning of the form on a line of its own ends the thoughts: their closer is missing.
func (tr *thoughtReader) foundThinking(t tag) {
	switch {
	case t.name == tr.s.closer && t.close:
		if tr.s.depth--; tr.s.depth == 0 {
			tr.resume()
			return
		}
		tr.s.write(t.raw)
		if tr.s.turn < 0 {
			tr.s.turn = len(tr.s.thoughts)
		}
	case t.name == tr.s.closer && t.bol && !t.alone:
		tr.s.depth++
		tr.s.write(t.raw)
	case tr.s.opt.Tags && t.name == rootTag && !t.close && t.bol: // the closer is missing
		tr.s.result.Odd++
		tr.s.form = over // or the thoughts continue, and quote a form
		tr.resume()
		tr.s.structure(t)
	default:
		tr.s.write(t.raw)
	}
}

// resume returns to the field around the thoughts.
func (tr *thoughtReader) resume() {
	tr.s.field, tr.s.back = tr.s.back, ""
	tr.s.closer, tr.s.depth, tr.s.mid = "", 0, false
	if tr.s.field == textField {
		tr.s.closer = textField
	}
}

// endThinking handles an output that ends within thoughts. The text after a closer in them is the answer. Without a
// closer and without another answer, all of them are the answer: some models open a tag and never close it. They are
// scanned again, once, and no call in them counts.
func (tr *thoughtReader) endThinking(acts bool) {
	from := tr.s.start
	if tr.s.turn >= 0 {
		from = tr.s.turn
	}
	tr.s.result.Odd++
	tr.s.field = ""
	if acts || tr.s.again || tr.s.text.any || tr.s.callText.calls.on() || len(tr.s.result.Calls) > 0 {
		return
	}
	said := strings.TrimSpace(string(tr.s.thoughts[from:]))
	tr.s.thoughts = tr.s.thoughts[:from]
	again := New(tr.s.opt)
	again.again, again.form = true, over
	text := again.Write(said)
	rest, r := again.Close(false)
	tr.s.text.write(text + rest)
	tr.s.thoughts = append(tr.s.thoughts, r.Thought...)
	r.Thought, r.Odd, r.Lost = "", r.Odd+tr.s.result.Odd, r.Lost+tr.s.result.Lost
	r.Calls = slices.Concat(tr.s.result.Calls, r.Calls)
	r.Providers = slices.Concat(tr.s.result.Providers, r.Providers)
	tr.s.result = r
}

// form is the position of the reader relative to the form. It only moves forward.
type form uint8

const (
	before form = iota // nothing of the form has come
	within             // calls at its top level count
	over               // none does any more: it was closed, or part of it may be a quote
)

// asks reports whether a field holds calls or their parameters.
func asks(field string) bool { return field == actionsField || field == paramsField }

// enterForm records that a tag at the top level begins or ends the form. Without its root the form begins only at the
// beginning of the answer: further down, it may be a quote.
func (tr *thoughtReader) enterForm(t tag) {
	at, fenced := tr.s.fence()
	alone := !tr.s.text.any && blank(tr.s.lead[:at])
	switch {
	case t.name == rootTag && t.close:
		tr.s.form = over
	case tr.s.form != before || t.close:
	case alone, t.name == rootTag && !tr.s.mid && !fenced:
		tr.s.form = within
	}
}

// settleDoubt handles a field whose calls don't count, because it is within another field, in the middle of a line or
// outside of the form: it is part of the text there. Only words without effect, and empty parameters, are left out of
// the text.
func (s *Scanner) settleDoubt(field, open, raw, closer string) {
	switch body := strings.TrimSpace(raw); {
	case field == actionsField:
		if open != "" && !isTag(open[1:], actionsField) {
			body = open + raw + closer // an <action> of its own
		}
		if calls, odd, _ := parseActions(body); odd == 0 && !slices.ContainsFunc(calls, Call.does) {
			s.result.Calls = append(s.result.Calls, calls...)
			return
		}
	case body == "":
		return
	default:
		var by map[string]json.RawMessage
		if json.Unmarshal([]byte(body), &by) == nil && len(by) == 0 {
			return
		}
	}
	s.write(open + raw + closer)
}

// does reports whether c may have an effect, unlike the reserved words among actions, which only describe the answer.
func (c Call) does() bool {
	return c.Parameters != "" && c.Parameters != "{}" || !slices.Contains([]string{"REPLY", "IGNORE", "NONE"}, strings.ToUpper(c.Name))
}
