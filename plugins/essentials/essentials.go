// Package essentials is a plugin with the basic actions, providers and evaluators of every agent: to answer or be
// silent, to follow rooms and write to them, to remember facts, and to describe to the model the agent, the
// participants and the known facts.
//
// Rights are checked in each action, from the accounts in the turn, never from text: a guest may change only data
// about the guest, a known user may use rooms that they are a member of, and the owner any. The model decides when
// to call an action; this package limits its effect.
//
// Names and facts come from users. In prompts they are quoted and kept to one line, so that none of them looks like a
// part of the prompt.
package essentials

import (
	"context"
	"log/slog"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
)

// Deps are the dependencies of the plugin.
type Deps struct {
	Store          Store
	ImageGenerator llm.ImageGenerator // nil without image generation
	Speaker        llm.Speaker        // nil without speech
	Small          llm.Model          // gives conversations titles; nil: they keep the beginning of their first message
	Reflection     bool               // whether to extract facts from conversations
	Evaluation     bool               // whether the character's template for evaluations is used
	FactScope      FactScope          // where facts about a person are used; default: InRoom
	FactLife       time.Duration      // the time that facts are used; 0: they don't expire
	Zone           *time.Location     // of the time in prompts; nil: this machine's
	Log            *slog.Logger
}

// Store contains the methods of a [storage.Store] that the plugin uses. Their contracts are documented there.
type Store interface {
	RoomsNamed(ctx context.Context, name string, author chat.EntityID) ([]chat.Room, error)
	SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error
	Entity(ctx context.Context, id chat.EntityID) (chat.Entity, error)
	SaveEntity(ctx context.Context, e chat.Entity) (chat.News, error)
	World(ctx context.Context, id chat.WorldID) (chat.World, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error)
	NotesAbout(ctx context.Context, person chat.EntityID, kind chat.NoteKind, shared bool, limit int) ([]chat.RoomNote, error)
	SaveNote(ctx context.Context, n chat.RoomNote) error
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	Forget(ctx context.Context, id chat.MemoryID) error
}

// New returns the plugin.
func New(d Deps) action.Plugin {
	services := new(action.Services)
	p := action.Plugin{Name: "essentials", Actions: actions(d), Providers: d.providers(), Commands: d.commands()}
	p.Init = func(_ context.Context, s action.Services) error {
		*services = s
		return nil
	}
	if d.Reflection {
		p.Evaluators = []action.Evaluator{reflection{d}}
	}
	if d.Small != nil {
		p.Evaluators = append(p.Evaluators, titler{d, services})
	}
	if d.Evaluation {
		p.Evaluators = append(p.Evaluators, evaluation{d.Store})
		p.Providers = append(p.Providers, evaluated{d.Store})
	}
	return p
}
