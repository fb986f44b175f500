package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
)

// elicit asks the user of the only call in progress: for the values of a form, or to open an address of the server, where secrets can be
// typed without passing through the chat. It declines forms that seem to ask for a secret.
func (c *client) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	current, ok := c.only()
	if !ok {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	call, ctx := current.Call, lang.With(ctx, current.voice)
	question := lang.Say(ctx, "form.asks", "server", text.Label(c.cfg.Name), "text", text.Quote(c.serverText(r.Params.Message, 500)))
	var content map[string]any
	var declined bool
	var err error
	if r.Params.Mode == "url" {
		declined, err = openAddress(ctx, call, question, r.Params.URL)
	} else {
		content, declined, err = fillIn(ctx, call, question, r.Params.RequestedSchema)
	}
	switch {
	case errors.Is(err, chat.ErrUnanswered), errors.Is(err, chat.ErrUnseen): // also after a restart, which made this call again
		call.Update(chat.JoinParagraphs(question, lang.Say(ctx, "form.over")))
		return &sdk.ElicitResult{Action: "cancel"}, nil
	case err != nil:
		return nil, err
	case declined:
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}, nil
}

// openAddress asks the user to open an address. It is shown completely, and only where no one else reads it. It fails with the errors of
// [action.Call.Choose].
func openAddress(ctx context.Context, call *action.Call, question, address string) (declined bool, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(address) > maxAddress || !call.Turn.Room.Kind.Private() {
		return true, nil
	}
	line := lang.Say(ctx, "form.address", "host", "**"+text.Unmarked(u.Hostname())+"**")
	q, err := call.Choose(ctx, chat.JoinParagraphs(question, line, "<"+u.String()+">"), chat.Question{Options: []string{lang.Say(ctx, "form.opened"), lang.Say(ctx, "form.decline")}})
	return q.Choice == 1, err
}

// fillIn asks for the values of a schema. A form that can't be asked here is declined. It fails with the errors of [action.Call.Form].
func fillIn(ctx context.Context, call *action.Call, question string, schema any) (content map[string]any, declined bool, err error) {
	all, ok := elicited(lang.Of(ctx), schema)
	if !ok {
		return nil, true, nil
	}
	if len(all) == 0 { // the server only asks for an agreement
		q, err := call.Choose(ctx, question, chat.Question{Options: []string{lang.Say(ctx, "form.accept"), lang.Say(ctx, "form.decline")}})
		return map[string]any{}, q.Choice == 1, err
	}
	fields := make([]answer.Field, len(all))
	for i, f := range all {
		fields[i] = f.Field
	}
	form, declined, err := call.Form(ctx, question, fields)
	if err != nil || declined {
		return nil, declined, err
	}
	content = map[string]any{}
	for i, f := range form.Fields {
		if f.Value != "" {
			content[f.Name] = all[i].value(f.Value)
		}
	}
	return content, false, nil
}

const maxAddress = 2000 // bytes

// secret matches names and titles of fields that ask for a secret, which servers must not ask for in a form.
var secret = regexp.MustCompile(`(?i)passw|passphrase|secret|token|api.?key|credential|\bpin\b|\bcvv\b|card.?number|private.?key`)

// elicitedField is a field of a server's form.
type elicitedField struct {
	answer.Field
	boolean bool
	values  []string // by option; empty: the options themselves
}

// value returns a checked answer as the server expects it.
func (f elicitedField) value(said string) any {
	one := func(option string) any {
		if i := slices.Index(f.Options, option); i >= 0 && f.boolean {
			return i == 0
		} else if i >= 0 && len(f.values) > 0 {
			return f.values[i]
		}
		return option
	}
	switch f.Kind {
	case answer.NumberField:
		n, _ := strconv.ParseFloat(said, 64) // it was checked
		return n
	case answer.IntegerField:
		n, _ := strconv.ParseInt(said, 10, 64)
		return n
	case answer.ChoicesField:
		all := []any{}
		for option := range strings.SplitSeq(said, ", ") {
			all = append(all, one(option))
		}
		return all
	}
	return one(said)
}

// property is a property of a requested schema.
type property struct {
	Type, Title, Description, Format, Pattern string
	Enum                                      []string
	EnumNames                                 []string
	OneOf, AnyOf                              []struct{ Const, Title string }
	Minimum, Maximum                          *float64
	MinLength, MaxLength                      *float64
	MinItems, MaxItems                        *float64
	Items                                     *property
}

// elicited returns the fields of a schema, the required ones first. ok is false if it asks for a secret, or for something that no field can ask for.
func elicited(v lang.Voice, schema any) (all []elicitedField, ok bool) {
	raw, err := json.Marshal(schema)
	var form struct {
		Properties map[string]property
		Required   []string
	}
	if err != nil || json.Unmarshal(raw, &form) != nil {
		return nil, false
	}
	for name, p := range form.Properties {
		f := p.field(v)
		f.Name, f.Optional = name, !slices.Contains(form.Required, name) && len(form.Properties) > 1
		f.Title = text.Label(text.Brief(p.Title, 100))
		if f.Title == "" {
			f.Title = text.Label(text.Brief(name, 100))
		}
		if p.Format == "password" || secret.MatchString(name) || secret.MatchString(p.Title) || secret.MatchString(p.Description) {
			return nil, false
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b elicitedField) int {
		if a.Optional != b.Optional {
			return map[bool]int{true: 1, false: -1}[a.Optional]
		}
		return strings.Compare(a.Name, b.Name)
	})
	fields := make([]answer.Field, len(all))
	for i, f := range all {
		fields[i] = f.Field
	}
	return all, len(all) == 0 || answer.CheckFields(fields) == nil
}

// field returns the field of p, without a name; one of an unknown type has no kind.
func (p property) field(v lang.Voice) (f elicitedField) {
	switch p.Type {
	case "string":
		f.Kind, f.Min, f.Max, f.Pattern = answer.TextField, p.MinLength, p.MaxLength, p.Pattern
		switch p.Format {
		case "date":
			f.Kind, f.Min, f.Max = answer.DateField, nil, nil
		case "email":
			f.Pattern = `^[^@\s]+@[^@\s]+\.[^@\s]+$`
		case "uri":
			f.Pattern = `^[a-z][a-z0-9+.-]*:\S+$`
		}
	case "number":
		f.Kind, f.Min, f.Max = answer.NumberField, p.Minimum, p.Maximum
	case "integer":
		f.Kind, f.Min, f.Max = answer.IntegerField, p.Minimum, p.Maximum
	case "boolean":
		f.Kind, f.Options, f.boolean = answer.ChoiceField, []string{v.Say("form.yes"), v.Say("form.no")}, true
		return f
	case "array":
		if p.Items != nil {
			f = p.Items.field(v)
			f.Kind, f.Min, f.Max = map[bool]answer.FieldKind{true: answer.ChoicesField}[f.Kind == answer.ChoiceField], p.MinItems, p.MaxItems
		}
		return f
	}
	label := func(s string) string { return strings.ReplaceAll(text.Label(s), ",", ";") }
	for i, e := range p.Enum {
		if f.values = append(f.values, e); i < len(p.EnumNames) {
			e = p.EnumNames[i]
		}
		f.Options = append(f.Options, label(e))
	}
	for _, e := range slices.Concat(p.OneOf, p.AnyOf) {
		f.values, f.Options = append(f.values, e.Const), append(f.Options, label(e.Title))
	}
	if len(f.Options) > 0 {
		f.Kind, f.Min, f.Max, f.Pattern = answer.ChoiceField, nil, nil, ""
	}
	return f
}
