package turn

import (
	"context"

	"parley/core/action"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/prompt"
)

// Asker asks the small model short questions, whose answers users don't see. Its fields are set before use. It is safe for concurrent use.
type Asker struct {
	Composer *prompt.Composer
	Model    llm.Model // the small one, or the large one where there is no other
}

// small asks the small model, or the large one where there is no other, a question that no person sees.
func (a *Asker) small(ctx context.Context, req llm.Request) (text string, err error) {
	return generate.Short(ctx, a.Model, req)
}

// with returns s with a way for plugins to ask the small model: an evaluator or an action renders one of the templates with the
// turn that it was given, and reads the answer.
func (a *Asker) with(s action.TurnContext) action.TurnContext {
	s.AskModel = func(ctx context.Context, s action.TurnContext, template string, more map[string]string) (string, error) {
		req, err := a.Composer.Turn(s).Prompt(ctx, template, more)
		if err != nil {
			return "", err
		}
		return a.small(ctx, req)
	}
	return s
}
