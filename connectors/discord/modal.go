package discord

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
)

// Discord's numbers for modals.
const (
	textInput  = 4
	label      = 18
	fileUpload = 19
	oneLine    = 1
	paragraph  = 2 // several lines

	modalFields = 5 // components of a modal

	longestLabel       = 45  // characters, also of a title
	longestDescription = 100 // characters
)

// modal is a form.
type modal struct {
	ID     string  `json:"custom_id"`
	Title  string  `json:"title"`
	Inputs []input `json:"components"`
}

// input is a component of a modal: a label around a text, the text itself, or, in answers of older clients, a row with it.
type input struct {
	Type        int     `json:"type"`
	Label       string  `json:"label,omitempty"`
	Description string  `json:"description,omitempty"`
	Inner       *input  `json:"component,omitempty"`
	Row         []input `json:"components,omitempty"`
	ID          string  `json:"custom_id,omitempty"`
	Style       int     `json:"style,omitempty"`
	Longest     int     `json:"max_length,omitempty"`
	Required    *bool   `json:"required,omitempty"` // nil is true
	Value       string  `json:"value,omitempty"`    // also in the answer
	// Of a menu: its options, the number of those that can be chosen, and the chosen ones in the answer. Likewise of files, by their ids.
	Options []menuOption `json:"options,omitempty"`
	Least   *int         `json:"min_values,omitempty"`
	Most    int          `json:"max_values,omitempty"`
	Values  []string     `json:"values,omitempty"`
}

// newModal returns a modal that asks for a text. The id must be all that is needed when it is submitted, also after a restart.
func newModal(id, title, description string) modal {
	return modal{id, title, []input{{
		Type: label, Label: title, Description: text.Brief(description, longestDescription),
		Inner: &input{Type: textInput, ID: "text", Style: paragraph, Longest: chat.MaxWords},
	}}}
}

// otherModal returns the modal for an answer in the user's own words. It shows the question: the last paragraph of the message.
func otherModal(i interaction) modal {
	all := strings.Split(strings.TrimSpace(i.Message.Content), "\n\n")
	return newModal(i.Data.ID, lang.In(i.Locale).Say("menu.answer"), all[len(all)-1])
}

// editModal returns the modal that changes the arguments of a call: those in the block of code of the message, if they are shown there.
func editModal(i interaction) modal {
	m := newModal(i.Data.ID, lang.In(i.Locale).Say("hold.edit"), "")
	_, block, _ := strings.Cut(i.Message.Content, "```\n")
	m.Inputs[0].Inner.Value, _, _ = strings.Cut(block, "\n```")
	return m
}

// formModal returns the modal for the first fields of a form. The gateway asks for the others when it is submitted.
func formModal(i interaction, fields []answer.Field) modal {
	m := modal{ID: i.Data.ID, Title: lang.In(i.Locale).Say("form.open")}
	for n, f := range fields[:min(len(fields), modalFields)] {
		required := !f.Optional
		in := input{Type: textInput, ID: strconv.Itoa(n), Style: oneLine, Longest: chat.MaxWords, Required: &required}
		switch f.Kind {
		case answer.ChoiceField, answer.ChoicesField:
			in = input{Type: stringSelect, ID: in.ID, Required: &required}
			for _, o := range f.Options {
				in.Options = append(in.Options, menuOption{o, o})
			}
			if f.Kind == answer.ChoicesField {
				in.Most = len(f.Options)
			}
			if least := 0; f.Optional {
				in.Least = &least
			}
		case answer.TextField:
			in.Style = paragraph
		case answer.FileField:
			_, most := f.Files()
			in = input{Type: fileUpload, ID: fileInput + f.Name, Required: &required, Most: most}
			if least := 0; f.Optional {
				in.Least = &least
			}
		}
		title, rest := text.Brief(f.Title, longestLabel), ""
		if title != f.Title {
			rest = text.Brief(f.Title, longestDescription)
		} else if f.Kind == answer.DateField {
			rest = time.Date(2026, time.December, 31, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		} else if f.Kind == answer.FileField {
			rest = text.Brief(f.Types(), longestDescription)
		}
		m.Inputs = append(m.Inputs, input{Type: label, Label: title, Description: rest, Inner: &in})
	}
	return m
}

// fileInput begins the id of a component for files; the name of the field follows.
const fileInput = "file:"

// values returns the values and files of a submitted form. The files belong to no message, so they can be fetched by their addresses alone, which
// expire.
func (i interaction) values() (values string, files []chat.Attachment) {
	var all []string
	for _, in := range i.Data.Inputs {
		if in.Inner == nil {
			continue
		}
		field, ok := strings.CutPrefix(in.Inner.ID, fileInput)
		if !ok {
			all = append(all, cmp.Or(in.Inner.Value, strings.Join(in.Inner.Values, ", ")))
			continue
		}
		all = append(all, "")
		for _, id := range in.Inner.Values {
			if a, ok := i.Data.Resolved.Attachments[id]; ok {
				files = append(files, chat.Attachment{Ref: a.URL, Name: a.Name, Type: a.Type, Size: a.Size, Field: field})
			}
		}
	}
	return answer.JoinValues(all...), files
}

// words returns the text of a submitted modal.
func (i interaction) words() string { return wordsIn(i.Data.Inputs) }

func wordsIn(all []input) string {
	for _, in := range all {
		inner := in.Row
		if in.Inner != nil {
			inner = append(inner, *in.Inner)
		}
		if in.Type == textInput {
			return in.Value
		} else if words := wordsIn(inner); words != "" {
			return words
		}
	}
	return ""
}

// submitted takes a submitted modal: an answer to a question of the agent, or a question about a message. A text that the user wrote is
// stored like a command, however long that takes: it can't be pressed again.
func (q *intake) submitted(ctx context.Context, i interaction) {
	if about, ok := strings.CutPrefix(i.Data.ID, aboutModal); ok {
		q.queue(ctx, i, &acknowledgment{}, func(ctx context.Context, x *acknowledgment) (chat.Inbound, error) { return q.about(ctx, x, about) })
		return
	}
	c, ok := i.choice()
	q.queue(ctx, i, &acknowledgment{press: true}, func(context.Context, *acknowledgment) (chat.Inbound, error) {
		if !ok {
			return nil, tellUser(lang.In(i.Locale).Say("turn.not_done"))
		}
		return c, nil
	})
}
