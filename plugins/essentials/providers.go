package essentials

import (
	"context"

	"parley/core/action"
	"parley/core/chat"
)

// Lore contains the store methods that the providers read.
type Lore interface {
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error)
	World(ctx context.Context, id chat.WorldID) (chat.World, error)
}

// provider is one made of a function.
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

// providers are what a model is told of the world of a turn. What changes least stands first; the time, which changes most,
// last.
func providers(d Deps, known *knowledge) []action.Provider {
	all := []action.Provider{
		provider{action.ProviderSpec{Name: "CHARACTER", Stable: true, Own: true, Position: 10}, character},
		provider{action.ProviderSpec{Name: "ACTIONS", Flat: true, Own: true, Position: 60}, actionList},
		provider{action.ProviderSpec{Name: "ENTITIES", Position: 70}, people(d.People)},
		provider{action.ProviderSpec{Name: "RECENT_MESSAGES", Flat: true, Position: 90}, recentMessages},
		provider{action.ProviderSpec{
			Name: "ATTACHMENTS", Dynamic: true, Position: 95,
			Description: "the full text of the files in this conversation, where the conversation shows only the beginning",
		}, attachments},
		provider{action.ProviderSpec{Name: "TIME", Own: true, Position: 100}, clock},
		known,
	}
	if d.Lore != nil {
		all = append(all,
			provider{action.ProviderSpec{Name: "WORLD", Position: 20, Values: []string{"worldContext"}}, surroundings(d.Lore)},
			provider{action.ProviderSpec{Name: "SETTINGS", Position: 30}, settings(d.Lore)},
			provider{action.ProviderSpec{Name: "FACTS", Position: 40, Values: []string{"facts"}}, facts(d.Lore)},
			provider{action.ProviderSpec{Name: "ACTION_STATE", Position: 80}, actionState(d.Lore)},
		)
	}
	return all
}
