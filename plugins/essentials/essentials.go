// Package essentials is a plugin with the basic actions, providers and evaluators of every agent.
package essentials

import (
	"context"
	"log/slog"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
)

// Deps are the dependencies of the plugin.
type Deps struct {
	Rooms    Rooms
	People   People             // nil: no details about people are stored
	Settings Settings           // nil: no settings can be changed by messages
	Painter  llm.ImageGenerator // nil without image generation
	Lore     Lore               // nil: no context from the store
	Journal  Journal            // stores facts; nil: none are stored
	Embedder llm.Embedder       // for semantic search; nil: search by keywords
	Log      *slog.Logger       // nil: no logging
}

// Rooms provides the agent's rooms and its attention there, like a [storage.Store].
type Rooms interface {
	RoomsNamed(ctx context.Context, name string, author chat.EntityID) ([]chat.Room, error)
	SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error
}

// New returns the plugin.
func New(d Deps) action.Plugin {
	known := newKnowledge(d)
	p := action.Plugin{Name: "essentials", Actions: actions(d), Providers: providers(d, known), Work: known.work}
	if d.Journal != nil {
		p.Evaluators = []action.Evaluator{reflection{d.Journal}}
	}
	return p
}
