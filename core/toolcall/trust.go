package toolcall

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/generate/xmlform"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/lang"
)

// Permits reports whether calls that a model wrote as text, without being asked for a form, are made: only if they
// read, and if no text in its prompts contains them. Some models write calls that way by mistake; but so does a model
// that quotes a page. Without calls, raw is the beginning of a truncated one.
func (tc *Calls) Permits(calls []xmlform.Call, raw string) bool {
	if len(calls) == 0 {
		return !strings.Contains(tc.untrusted().plain, text.Plain(raw))
	}
	for _, c := range calls {
		t := tc.Toolbox.Find(c.Name)
		if t == nil || t.Def.Effect != action.Reads || !tc.Offers(t, *tc.Turn) || tc.Quotes(c.Name, json.RawMessage(c.Parameters)) {
			return false
		}
	}
	return true
}

// quoted reports whether a call may be a mere repetition of a text in the prompts: the model wrote c as text, or works
// on a task, which no person watches, and the call's name and parameters occur there. Native calls of an answer are
// trusted more, because quoting a text does not make it a native call.
func (tc *Calls) quoted(c llm.ToolCall, t *action.Tool, params json.RawMessage) bool {
	return (tc.block(c, 0).Written || tc.Run.Kind == chat.RunTask) && (tc.Quotes(c.Name, params) || tc.Quotes(t.Def.Name, params))
}

// doubtful reports whether a call needs a confirmation: it changes something, and may be a quote. A call with an
// earlier question to users stays doubtful, because its source can have left the prompts while the run waited.
func (tc *Calls) doubtful(ctx context.Context, c llm.ToolCall, t *action.Tool, params json.RawMessage) bool {
	if !t.Def.Effect.Changes() {
		return false
	}
	call := tc.call(ctx, c, params)
	return call.Waited(quote(call, t)) || tc.quoted(c, t, params)
}

// quote returns the reason of a wait ([action.Wait].For) for the confirmation of a call.
func quote(c *action.Call, t *action.Tool) string { return "quote/" + c.Key(t.Def.Name, "") }

// The results for the model of a call that is not confirmed.
const (
	noUserLine      = "It came from content that was read, and there is no user to confirm it."
	longQuoteLine   = "It came from content that was read, and is too long to confirm."
	declinedLine    = "It came from content that was read, and the user declined it."
	unconfirmedLine = "It came from content that was read, and the user has not confirmed it."
)

// confirm asks the user who is answered whether to make c. The run is parked meanwhile ([chat.ErrParked]); confirm is
// called again when it continues. refused is the reason why the call can't be made; any other error ends the turn. The
// question shows all parameters, so a call whose parameters are too long to be read is refused.
func (tc *Calls) confirm(ctx context.Context, c llm.ToolCall, t *action.Tool, params json.RawMessage) (refused string, err error) {
	if tc.Run.Kind == chat.RunTask {
		return noUserLine, nil
	}
	quoted, ok := consent.Quote(string(params))
	if !ok {
		return longQuoteLine, nil
	}
	call := tc.call(ctx, c, params)
	subject, shown, details := quote(call, t), lang.Say(ctx, "trust.ask", "call", fmt.Sprintf("```\n%s\n%s\n```", t.Def.Name, quoted)), ""
	if tc.Turn.Room.Address.Ephemeral {
		shown, details = lang.Say(ctx, "trust.ask", "call", text.Label(t.Def.Title())), "```\n"+quoted+"\n```"
	}
	state, q, err := consent.Of(ctx, call, subject)
	if err != nil {
		return "", fmt.Errorf("read the confirmation of %s: %w", t.Def.Name, err)
	}
	if state == consent.Open {
		state, err = consent.Ask(ctx, call, consent.Request{
			Subject: subject, Description: shown, Details: details, Options: []string{lang.Say(ctx, "trust.yes"), lang.Say(ctx, "trust.no")}, Until: time.Now().Add(tc.ConfirmFor),
		})
		if err != nil {
			return "", err
		}
	}
	if state != consent.Chosen { // late, or unseen
		return unconfirmedLine, nil
	}
	call.Update(shown + "\n\n" + q.ChoiceLine(tc.Turn.Room.Kind))
	if lang.Is("trust.yes", q.Options[q.Choice]) {
		return "", nil
	}
	return declinedLine, nil
}

// corpus is the text in the prompts of a turn that the asker did not write, in two forms.
type corpus struct {
	// lower is in small letters without underscores, for names, which models write in several ways.
	lower string
	// plain is the output of [text.Plain], for parameters.
	plain string
}

// untrusted returns the corpus of the turn: all texts that a call may repeat, see [action.Origin.Quotable]. It is made
// for each call, because results are added.
func (tc *Calls) untrusted() corpus {
	var texts []string
	for _, p := range tc.Turn.Parts(tc.read()) {
		if p.Origin.Quotable() {
			texts = append(texts, p.Text)
		}
	}
	all := strings.Join(texts, "\n")
	forms := []string{all}
	// A page may contain a call within JSON within JSON, which the model reads without its escapes.
	for range 2 {
		if next := unescaped(all); next != all {
			forms, all = append(forms, next), next
		}
	}
	joined := strings.Join(forms, "\n\n")
	return corpus{lower: strings.ReplaceAll(strings.ToLower(joined), "_", ""), plain: text.Plain(joined)}
}

// read returns the texts that the model has read besides the conversation.
func (tc *Calls) read() action.Read {
	return action.Read{Fragments: tc.Outputs(), Calls: tc.Acted, Remote: tc.told}
}

// Quotes reports whether the corpus contains an action's name and all of the parameters' values. Without values, the
// name has to occur as in a call, because many names are ordinary words. In doubt it returns true: an unnecessary
// question is harmless.
func (tc *Calls) Quotes(name string, params json.RawMessage) bool {
	c, values := tc.untrusted(), leaves(params)
	for _, v := range values {
		if !strings.Contains(c.plain, v) {
			return false
		}
	}
	word := regexp.QuoteMeta(action.LooseName(name))
	if len(values) == 0 {
		return regexp.MustCompile("[\"'=>:,(\\[`-]\\s*" + word + "\\s*([\"'<>,/(){}\\]`]|\\n|$)").MatchString(c.lower)
	}
	return regexp.MustCompile(`(^|[^\pL\pN])` + word + `($|[^\pL\pN])`).MatchString(c.lower)
}

// leaves returns the strings and numbers in parameters, in [text.Plain] form. Truth values and null are left out: they
// occur in any text.
func leaves(params json.RawMessage) (all []string) {
	d := json.NewDecoder(bytes.NewReader(params))
	// Numbers are compared as they were written.
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return nil
	}
	var walk func(v any)
	walk = func(v any) {
		txt := ""
		switch v := v.(type) {
		case map[string]any:
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		case json.Number:
			txt = text.Plain(v.String())
		case string:
			txt = text.Plain(v)
		}
		if txt != "" {
			all = append(all, txt)
		}
	}
	walk(value)
	return all
}

var escapes = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|["\\/bfnrt])`)

// unescaped resolves HTML entities and the escapes of JSON strings.
func unescaped(text string) string {
	return escapes.ReplaceAllStringFunc(html.UnescapeString(text), func(escape string) string {
		var s string
		if json.Unmarshal([]byte(`"`+escape+`"`), &s) != nil {
			return escape
		}
		return s
	})
}
