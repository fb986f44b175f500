package consent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
)

// Form asks the author of the message to fill in fields, and returns them with their values and files. Each answer that leaves fields open, or that does
// not fit, parks the run again: on platforms without forms the fields are asked one after the other. Results and errors are those of [Of]
// and [Ask]; declined reports whether the user refused. The checked values come from the user: they are no rights.
func Form(ctx context.Context, c *action.Call, subject, description string, fields []answer.Field, until time.Time) (filled chat.Form, declined bool, state State, err error) {
	filled.Fields = fields
	state, q, err := Of(ctx, c, subject)
	if state == Late && q.Payload == subject && q.Open(time.Now()) { // the process ended before the run waited for the next field
		_, asks := chat.FormQuestion(lang.Of(ctx), chat.Form{Fields: q.Fields, Files: q.Files}, "")
		return filled, false, Open, c.Park(ctx, chat.JoinParagraphs(description, asks), action.Wait{For: subject, Until: q.Expires, Ask: &q})
	}
	if err != nil || state == Late {
		return filled, false, state, err
	}
	problem := ""
	if state == Chosen {
		filled, declined, problem = q.Form(lang.Of(ctx))
		until = q.Expires
	}
	if declined || answer.NextField(filled.Fields) < 0 {
		c.Update(chat.JoinParagraphs(description, answer.Filled(filled.Fields)))
		return filled, declined, Chosen, nil
	}
	q, asks := chat.FormQuestion(lang.Of(ctx), filled, problem)
	state, err = Ask(ctx, c, Request{
		Subject: subject, Description: chat.JoinParagraphs(description, asks), Options: q.Options, Other: q.Other, Fields: q.Fields, Files: q.Files, Until: until,
	})
	return filled, false, state, err
}

// FormAction is the action that lets the model ask its user several questions at once.
type FormAction struct{}

// Spec implements [action.Action].
func (FormAction) Spec() action.Spec {
	return action.Spec{
		Name: "ASK_FORM", Similes: []string{"FILL_FORM", "SHOW_FORM", "COLLECT_DETAILS"}, Effect: action.Reads, Quiet: true, Limit: formTime,
		Description: "Ask the user for several details at once with a form, and wait for them. The answers are checked. Never ask for passwords, keys or card numbers.",
		Parameters: json.RawMessage(`{"type":"object","required":["question","fields"],"properties":{` +
			`"question":{"type":"string","minLength":1,"maxLength":1000,"description":"what the form is for"},` +
			`"fields":{"type":"array","description":"what to ask for, in this order","minItems":1,"maxItems":10,"items":{"type":"object","required":["name","title","kind"],"properties":{` +
			`"name":{"type":"string","minLength":1,"maxLength":40},"title":{"type":"string","minLength":1,"maxLength":100,"description":"the label that the user reads"},` +
			`"kind":{"type":"string","enum":["text","number","integer","date","choice","choices","file"]},` +
			`"options":{"type":"array","maxItems":25,"items":{"type":"string","minLength":1,"maxLength":60},"description":"of choice and choices"},` +
			`"accept":{"type":"array","maxItems":10,"items":{"type":"string","maxLength":80},"description":"of file, such as application/pdf or image/*"},` +
			`"optional":{"type":"boolean"},"min":{"type":"number","description":"least number, length, or number of files"},"max":{"type":"number"},` +
			`"pattern":{"type":"string","maxLength":200,"description":"regular expression of a text"}}}}}}`),
	}
}

// Available implements [action.Conditional].
func (FormAction) Available(s action.TurnContext) bool { return s.Room.Kind != chat.Feed }

const formTime = 2 * time.Minute // files are read

// formCall is a call of [FormAction].
type formCall struct {
	Question string
	Fields   []answer.Field
}

// readForm reads the form of a call, as the user reads it.
func readForm(c *action.Call) (f formCall, err error) {
	if err = c.Read(&f); err != nil {
		return f, err
	}
	f = text.CleanAll(f)
	for i := range f.Fields {
		f.Fields[i].Value, f.Fields[i].Done = "", false
	}
	f.Question = text.Excerpt(strings.TrimSpace(f.Question), maxQuestion)
	return f, answer.CheckFields(f.Fields)
}

func formSubject(c *action.Call) string { return "form/" + c.Key("ASK_FORM", "") }

// Consent implements [action.Consenting]: the run waits until the form is complete.
func (FormAction) Consent(ctx context.Context, c *action.Call) (asked bool, refused string, err error) {
	f, err := readForm(c)
	if err != nil {
		return false, fmt.Sprintf("The form is invalid: %v.", err), nil
	}
	_, declined, state, err := Form(ctx, c, formSubject(c), f.Question, f.Fields, time.Now().Add(questionTime))
	switch {
	case err != nil:
		return false, "", err
	case state == Unseen:
		return true, "The user can't be asked here.", nil
	case state != Chosen:
		c.Update(f.Question)
		return true, "The user has not filled in the form in time.", nil
	case declined:
		return true, "The user does not want to fill in the form.", nil
	}
	return true, "", nil
}

// Act implements [action.Action]. The result has the values by the names of the fields, and the content of files.
func (FormAction) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	state, q, err := Of(ctx, c, formSubject(c))
	if err != nil || state != Chosen {
		return action.Result{}, errors.Join(errors.New("the form is not filled in"), err)
	}
	form, _, _ := q.Form(lang.Of(ctx))
	values := map[string]string{}
	for _, f := range form.Fields {
		values[f.Name] = f.Value
	}
	out, err := json.Marshal(values)
	lines := []string{string(out)}
	for _, f := range c.ReadFiles(ctx, form.Files) {
		lines = append(lines, f.Field+": "+f.PromptText())
	}
	return action.Result{Text: strings.Join(lines, "\n"), Short: strings.ReplaceAll(answer.Filled(form.Fields), "\n", ", ")}, err
}
