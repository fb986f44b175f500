package core

import (
	"context"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
)

// waitProviders waits for providers that are still at work after their time limit, but not long: foreign code can't be ended.
func (rt *Runtime) waitProviders() {
	ctx, cancel := context.WithTimeout(context.Background(), coordTimeout)
	defer cancel()
	if rt.composer.Wait(ctx) != nil {
		rt.cfg.Log.Warn("a provider did not return in time and is left running")
	}
}

// SetTemplates replaces templates of the character, by name, while the gateway runs. A name that is not given stays as it is; one
// without a text falls back to the plugins' and the built-in ones. If anything is wrong nothing changes, and the error is a
// [*prompt.TemplateError]. Prompts that are being made keep what they began with. Safe for concurrent use.
func (rt *Runtime) SetTemplates(texts map[string]string) error {
	return rt.composer.SetTemplates(texts)
}

// Templates returns the templates of the character, by name, with what [Runtime.SetTemplates] has changed. Those of plugins and the
// built-in ones are left out. Safe for concurrent use.
func (rt *Runtime) Templates() map[string]string { return rt.composer.Templates() }

// skipped logs that a turn goes on without a provider.
func (rt *Runtime) skipped(spec action.ProviderSpec, run chat.RunID, err error) {
	rt.counts.Providers.Add(1)
	rt.cfg.Log.Warn("a provider is skipped", "provider", spec.Name, "run", run, "err", err)
}

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
