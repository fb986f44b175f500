package essentials

import (
	"context"
	"fmt"
	"strings"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
)

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
			if err := c.Ask(ctx, chat.Question{Options: p.Options, Chooser: action.AsMessage}); err != nil {
				return action.Result{}, err
			}
			c.Update(p.Question)
			return action.Result{Text: fmt.Sprintf("Asked: %s\n%s", p.Question, answer.Choices{Options: p.Options}.Numbered()), Short: strings.Join(p.Options, " / "), Last: true}, nil
		}),
	}
}
