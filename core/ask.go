package core

import (
	"context"

	"parley/core/action"
	"parley/core/generate"
	"parley/core/llm"
)

// small asks the small model, or the large one where there is no other, a question that no person sees.
func (rt *Runtime) small(ctx context.Context, req llm.Request) (text string, err error) {
	return generate.Short(ctx, rt.cfg.Models.SmallOrLarge(), req)
}

// answering returns s with a way for plugins to ask the small model: an evaluator or an action renders one of the templates with the
// turn that it was given, and reads the answer.
func (rt *Runtime) answering(s action.TurnContext) action.TurnContext {
	s.AskModel = func(ctx context.Context, s action.TurnContext, template string, more map[string]string) (string, error) {
		req, err := rt.composer.Turn(s).Prompt(ctx, template, more)
		if err != nil {
			return "", err
		}
		return rt.small(ctx, req)
	}
	return s
}
