package action

import (
	"context"
	"errors"
)

// Ask has the small model answer the question that a template puts about the scene; more are further variables. It is for
// evaluators, actions and providers, under their own limits of time.
func (s TurnContext) Ask(ctx context.Context, template string, more map[string]string) (string, error) {
	if s.AskModel == nil {
		return "", errors.New("no user can be asked in this context")
	}
	return s.AskModel(ctx, s, template, more)
}
