package chat

import (
	"strings"

	"parley/core/answer"
	"parley/internal/lang"
)

// maxButtons is the number of options of a field that are shown as buttons, besides the one that refuses the form.
const maxButtons = 9

// FormQuestion returns the question for the fields that are not answered yet, and the text above it. problem is the reason why the
// last answer did not fit; it can be empty. Platforms with forms ask for all of these fields at once, by [Question.Other]. Elsewhere users
// write the value of the first one, whose options are also buttons.
func FormQuestion(v lang.Voice, fields []answer.Field, problem string) (q Question, text string) {
	next := fields[answer.NextField(fields)]
	q = Question{Options: append(buttons(next), v.Say("form.decline")), Other: v.Say("form.open"), Fields: fields}
	lines := []string{answer.Filled(fields), problem, next.Prompt(v)}
	if problem != "" {
		lines[1] = "⚠️ " + problem
	}
	return q, JoinParagraphs(lines...)
}

// JoinParagraphs joins the texts that are not empty.
func JoinParagraphs(all ...string) string {
	var kept []string
	for _, t := range all {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return strings.Join(kept, "\n\n")
}

// Form returns the fields after the choice: declined if the user refused the form, or a problem for the user if the value does not fit. The
// form is complete if no field is left.
func (q Question) Form(v lang.Voice) (fields []answer.Field, declined bool, problem string) {
	next := answer.NextField(q.Fields)
	if next < 0 {
		return q.Fields, false, ""
	}
	n := len(buttons(q.Fields[next]))
	values := q.Options[q.Choice]
	switch {
	case q.Choice < n:
		values = q.Fields[next].Options[q.Choice] // labels can be cut
	case q.Choice == n:
		return q.Fields, true, ""
	}
	fields, problem = answer.Fill(v, q.Fields, values)
	return fields, false, problem
}

// FormWords returns the values of text, which a user wrote as an answer to q. ok is false if it is the option that refuses the form.
func (q Question) FormWords(text string) (values string, ok bool) {
	text = strings.TrimSpace(text)
	return answer.JoinValues(text), !strings.EqualFold(text, q.Options[len(q.Options)-1])
}

func buttons(f answer.Field) []string {
	if f.Kind != answer.ChoiceField || len(f.Options) > maxButtons {
		return nil
	}
	return append([]string(nil), f.Options...)
}
