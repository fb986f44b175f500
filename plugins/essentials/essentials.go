// Package essentials is what every agent knows and can do.
package essentials

import (
	"context"
	"log/slog"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
)

// Deps are what the plugin works with.
type Deps struct {
	Rooms    Rooms
	People   People             // nil: nothing is noted of people
	Settings Settings           // nil: nothing is set by talking
	Painter  llm.ImageGenerator // nil without image generation
	Lore     Lore               // nil: nothing is told that only a store knows
	Journal  Journal            // where facts are noted; nil: none are
	Embedder llm.Embedder       // finds what is known by what it means; nil: by words
	Log      *slog.Logger       // nil: nothing is logged
}

// Rooms are the places that the agent knows, and how closely it listens there; a [core.Store] knows both.
type Rooms interface {
	RoomsNamed(ctx context.Context, name string, author chat.EntityID) ([]chat.Room, error)
	SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error
}

// New makes the plugin.
func New(d Deps) action.Plugin {
	known := newKnowledge(d)
	p := action.Plugin{Name: "essentials", Actions: actions(d), Providers: providers(d, known), Work: known.work}
	if d.Journal != nil {
		p.Evaluators = []action.Evaluator{reflection{d.Journal}}
	}
	return p
}
