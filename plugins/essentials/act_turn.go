package essentials

import (
	"context"
	"fmt"
	"strings"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
)

// turnActions returns the actions about the turn itself. A model with tool calls answers by writing, so REPLY and NONE
// are not listed for it. They work for models that know them from elizaOS. In the text format, package generate handles
// these words itself.
func turnActions(store Store) []namedAction {
	return []namedAction{
		{
			spec: action.Spec{
				Name: "REPLY", Similes: []string{"RESPOND", "ANSWER", "SAY"}, Unlisted: true, Effect: action.Reads,
				Description: "Answer with text.",
				Parameters:  object(`"text":{"type":"string","description":"the answer; empty if it is already written"}`),
			},
			act: reading(reply),
		},
		{
			spec: action.Spec{
				Name: "NONE", Similes: []string{"NO_ACTION", "NOTHING"}, Unlisted: true, Quiet: true, Effect: action.Reads,
				Description: "Do nothing more.",
			},
			act: leave,
		},
		{
			spec: action.Spec{
				Name: "IGNORE", Similes: []string{"NO_RESPONSE", "STAY_SILENT"}, Quiet: true, Effect: action.Reads,
				Description: "Don't answer. For messages that are not meant for you or need no answer. Write no text.",
			},
			available: isGroup,
			act:       leave,
		},
		{
			spec: action.Spec{
				Name: "STOP", Similes: []string{"BE_QUIET", "STOP_TALKING"}, Quiet: true, Effect: action.Writes,
				Description: "Don't answer, and stay silent in this room until you are addressed. Use it when you are told to be quiet.",
			},
			available: isGroup,
			act: func(ctx context.Context, c *action.Call) (action.Result, error) {
				if err := store.SetAttention(ctx, c.Turn.Room.ID, chat.Quiet); err != nil {
					return action.Result{}, fmt.Errorf("unfollow the room: %w", err)
				}
				return action.Result{Last: true}, nil
			},
		},
	}
}

// reply shows a text, and ends the turn.
func reply(_ context.Context, c *action.Call, p struct{ Text string }) (action.Result, error) {
	if p.Text != "" {
		c.Update(p.Text)
	}
	return action.Result{Last: true}, nil
}

// leave ends the turn.
func leave(context.Context, *action.Call) (action.Result, error) {
	return action.Result{Last: true}, nil
}

// chooseOption asks the author of the message to choose from options. The choice arrives as their next message, so the
// turn ends here.
func chooseOption() namedAction {
	return namedAction{
		spec: action.Spec{
			Name: "CHOOSE_OPTION", Similes: []string{"SELECT_OPTION", "OFFER_OPTIONS", "ASK_CHOICE"},
			Description: "Ask the user to choose from buttons, and end the turn. Only when you need a decision between a few options. Don't also write the question as text.",
			Parameters: object(`"question":{"type":"string","minLength":1,"maxLength":1000,"description":"what to ask"},`+
				`"options":{"type":"array","minItems":2,"maxItems":10,"uniqueItems":true,"description":"the options, a few words each",`+
				`"items":{"type":"string","minLength":1,"maxLength":60}}`, "question", "options"),
			Effect: action.Reads,
		},
		available: func(s action.TurnContext) bool { return s.Room.Kind != chat.Feed },
		act: reading(func(ctx context.Context, c *action.Call, p struct {
			Question string
			Options  []string
		}) (action.Result, error) {
			if err := c.Ask(ctx, chat.Question{Options: p.Options, Other: "Something else…", Handler: action.AsMessage}); err != nil {
				return action.Result{}, err
			}
			c.Update(p.Question)
			return action.Result{Text: fmt.Sprintf("Asked: %s\n%s", p.Question, answer.Choices{Options: p.Options}.Numbered()), Short: strings.Join(p.Options, " / "), Last: true}, nil
		}),
	}
}
