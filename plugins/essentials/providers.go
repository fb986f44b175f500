package essentials

import (
	"context"

	"parley/core/action"
)

// provider is an [action.Provider] made of a function.
type provider struct {
	spec    action.ProviderSpec
	provide func(ctx context.Context, s action.TurnContext) (action.ProviderResult, error)
}

// Spec implements [action.Provider].
func (p provider) Spec() action.ProviderSpec { return p.spec }

// Provide implements [action.Provider].
func (p provider) Provide(ctx context.Context, s action.TurnContext) (action.ProviderResult, error) {
	return p.provide(ctx, s)
}

// providers returns the providers. Their positions put what changes least first, so that prompts can be cached.
func (d Deps) providers() []action.Provider {
	return []action.Provider{
		provider{action.ProviderSpec{Name: "CHARACTER", Stable: true, Own: true, Position: 10}, character},
		provider{action.ProviderSpec{Name: "ACTIONS", Flat: true, Own: true, Position: 60}, actionList},
		provider{action.ProviderSpec{Name: "ENTITIES", Position: 70}, d.people},
		provider{action.ProviderSpec{Name: "RECENT_MESSAGES", Flat: true, Position: 90}, recentMessages},
		provider{action.ProviderSpec{
			Name: "ATTACHMENTS", Dynamic: true, Position: 95,
			Description: "the full text of the files in this conversation, where the conversation shows only the beginning",
		}, attachments},
		provider{action.ProviderSpec{Name: "TIME", Own: true, Position: 100}, d.clock},
		provider{action.ProviderSpec{Name: "WORLD", Position: 20, Values: []string{"worldContext"}}, d.surroundings},
		provider{action.ProviderSpec{Name: "SETTINGS", Position: 30}, d.settings},
		provider{action.ProviderSpec{Name: "FACTS", Position: 40, Values: []string{"facts"}}, d.facts},
		provider{action.ProviderSpec{Name: "ACTION_STATE", Position: 80}, d.actionState},
	}
}
