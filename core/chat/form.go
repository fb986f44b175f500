package chat

import (
	"cmp"
	"mime"
	"slices"
	"strconv"
	"strings"

	"parley/core/answer"
	"parley/core/text"
	"parley/internal/lang"
)

// maxButtons is the number of options of a field that are shown as buttons, besides the one that refuses the form.
const maxButtons = 9

// MaxFormFile is the maximum size of a file in a form, in bytes: that of files that are read.
const MaxFormFile = 20 << 20

// Form has the fields of a form, and the files that answer those of the kind [answer.FileField].
type Form struct {
	Fields []answer.Field
	Files  []Attachment
}

// FilesOf returns the files that answer the field with a name.
func (f Form) FilesOf(field string) (all []Attachment) {
	for _, a := range f.Files {
		if a.Field == field {
			all = append(all, a)
		}
	}
	return all
}

// fill returns f with values, a text of [answer.JoinValues]; see [answer.Fill]. Files that do not fit are left out, and others stay.
func (f Form) fill(v lang.Voice, values string) (filled Form, problem string, wrong map[string]string) {
	filled = f
	filled.Fields, problem, wrong = answer.Fill(v, f.Fields, values, func(of answer.Field, line string) (string, string) {
		return fileValue(v, of, line, f.FilesOf(of.Name))
	})
	filled.Files = slices.DeleteFunc(slices.Clone(f.Files), func(a Attachment) bool {
		return !slices.ContainsFunc(filled.Fields, func(of answer.Field) bool { return of.Name == a.Field && (of.Done || a.unfit(v, of) == "") })
	})
	return filled, problem, wrong
}

// fileValue returns the names of the files that answer f, or the reason for the user why they do not fit. line is the text that came with them.
func fileValue(v lang.Voice, f answer.Field, line string, files []Attachment) (value, problem string) {
	least, most := f.Files()
	done := most > 1 && (line == "1" || lang.Is("form.opened", strings.TrimRight(line, ".!。！"))) // the number or the words of the button
	skipped := line == "" || line == answer.LeftOut || done
	var names []string
	for _, a := range files {
		if problem = a.unfit(v, f); problem != "" {
			return "", problem
		}
		names = append(names, text.Label(cmp.Or(a.Name, a.Type)))
	}
	switch n := len(files); {
	case n == 0 && f.Optional && skipped:
		return "", ""
	case n == 0:
		return "", v.Say("form.file")
	case n < most && !skipped:
		return "", v.Say("form.not_done", "done", v.Say("form.opened"))
	case n < least || n > most:
		return "", v.Say("form.file_number", "least", strconv.Itoa(least), "most", strconv.Itoa(most))
	}
	return strings.Join(names, ", "), ""
}

// unfit returns the reason for the user why f does not answer of, or "".
func (f Attachment) unfit(v lang.Voice, of answer.Field) string {
	kind, _, _ := mime.ParseMediaType(f.Type) // "" fits nothing
	class, _, _ := strings.Cut(kind, "/")
	switch {
	case len(of.Accept) > 0 && !slices.Contains(of.Accept, kind) && !slices.Contains(of.Accept, class+"/*"):
		return v.Say("form.file_type", "types", of.Types())
	case f.Size > MaxFormFile:
		return v.Say("form.file_size", "size", strconv.Itoa(MaxFormFile>>20))
	}
	return ""
}

// FormQuestion returns the question for the fields that are not answered yet, and the text above it. problem is the reason why the
// last answer did not fit; it can be empty. Platforms with forms ask for all of these fields at once, by [Question.Other]. Elsewhere users
// write the value of the first one, whose options are also buttons, or send its files.
func FormQuestion(v lang.Voice, f Form, problem string) (q Question, text string) {
	next := f.Fields[answer.NextField(f.Fields)]
	q = Question{Options: append(buttons(v, next), v.Say("form.decline")), Other: v.Say("form.open"), Fields: f.Fields, Files: f.Files}
	lines := []string{answer.Filled(f.Fields), problem, next.Prompt(v)}
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

// Form returns the form after the choice: declined if the user refused it, or a problem for the user if the value does not fit. The
// form is complete if no field is left.
func (q Question) Form(v lang.Voice) (f Form, declined bool, problem string) {
	f = Form{q.Fields, q.Files}
	next := answer.NextField(q.Fields)
	if next < 0 {
		return f, false, ""
	}
	n := len(buttons(v, q.Fields[next]))
	values := q.Options[q.Choice]
	switch {
	case q.Choice < n && q.Fields[next].Kind == answer.ChoiceField:
		values = q.Fields[next].Options[q.Choice] // labels can be cut
	case q.Choice == n:
		return f, true, ""
	}
	f, problem, _ = f.fill(v, values)
	return f, false, problem
}

// Unfit returns the reasons why words and files that a user sends with a form do not fit, by the names of the fields, and the first one with its
// title; it is empty if all fit.
func (q Question) Unfit(v lang.Voice, words string, files []Attachment) (problem string, wrong map[string]string) {
	_, problem, wrong = Form{q.Fields, slices.Concat(q.Files, files)}.fill(v, words)
	return problem, wrong
}

// FormWords returns the values of text, which a user wrote as an answer to q. ok is false if it is the option that refuses the form.
func (q Question) FormWords(text string) (values string, ok bool) {
	text = strings.TrimSpace(text)
	return answer.JoinValues(text), !strings.EqualFold(text, q.Options[len(q.Options)-1])
}

// NextField returns the field of a form that q asks for now, or the zero Field.
func (q Question) NextField() (f answer.Field) {
	if next := answer.NextField(q.Fields); next >= 0 {
		f = q.Fields[next]
	}
	return f
}

// FormFiles returns those of m's files that answer the next field of q, if that takes files. A voice message is no file. more reports whether the
// field takes more of them: users can send several messages. unfit is the reason for the user why others were left out, or "".
func (q Question) FormFiles(v lang.Voice, m Message) (fit []Attachment, more bool, unfit string) {
	next := q.NextField()
	_, most := next.Files()
	most -= len(Form{Files: q.Files}.FilesOf(next.Name))
	for _, f := range m.Files {
		if next.Kind != answer.FileField || f.Ref == "" || f.Voice || f.Link || !f.sent() {
			continue
		}
		why := f.unfit(v, next)
		if why == "" && len(fit) >= most {
			why = v.Say("form.files_full")
		}
		if f.Field, f.Group = next.Name, m.Group; why == "" {
			fit = append(fit, f)
		} else if unfit == "" {
			unfit = next.Title + ": " + why
		}
	}
	return fit, len(fit) < most, unfit
}

// buttons returns the options of the next field of a form: those of a choice, or one that ends a list of files.
func buttons(v lang.Voice, f answer.Field) []string {
	if _, most := f.Files(); f.Kind == answer.FileField && most > 1 {
		return []string{v.Say("form.opened")}
	}
	if f.Kind != answer.ChoiceField || len(f.Options) > maxButtons {
		return nil
	}
	return append([]string(nil), f.Options...)
}
