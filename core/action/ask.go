package action

import (
	"context"
	"errors"
)

// Ask renders a template with the variables of the turn and those in more, and returns the small model's answer. It is
// meant for evaluators, actions and providers; their time limits apply.
func (s TurnContext) Ask(ctx context.Context, template string, more map[string]string) (string, error) {
	if s.AskModel == nil {
		return "", errors.New("no user can be asked in this context")
	}
	return s.AskModel(ctx, s, template, more)
}
