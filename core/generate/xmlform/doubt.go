package xmlform

import (
	"encoding/json"
	"slices"
	"strings"
)

// form is where the reader is with respect to the form. It only goes forward.
type form uint8

const (
	before form = iota // nothing of the form has come
	within             // calls at its top level count
	over               // none does any more: it was closed, or part of it may be a quote
)

// asks reports whether a field holds calls or their parameters.
func asks(field string) bool { return field == actionsField || field == paramsField }

// enterForm notes that a tag at the top level begins or ends the form. Without its root the form begins only where the
// answer does: further down, it may be a quote.
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
// outside of the form: it is part of what is said there. Only words that do nothing, and empty parameters, are left out
// of the text.
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
