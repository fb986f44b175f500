// Package tasks is a plugin that gives the agent the tasks of the configuration, without a request of a user
// at that moment: at certain times, or when another program calls. Several replicas can run it: a task is accepted
// under a key of its time, and of several with one key only the first is.
//
// The texts of tasks come from the owner, but the values that hooks insert come from outside: they are quoted where the
// model reads them, and the runtime gives such runs no rights of a person.
package tasks

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/internal/quiethours"
)

// Name is the plugin's name, which its state is stored under.
const Name = "tasks"

// Options configure the plugin.
type Options struct {
	Store     Store
	Schedules []Schedule
	Hooks     []Hook
	Agents    []Agent
	Quiet     quiethours.Hours
	Log       *slog.Logger
}

// Store finds rooms; a [storage.Store] implements it. The methods that return a room fail with [chat.ErrNotFound].
type Store interface {
	NotesAbout(ctx context.Context, about chat.EntityID, kind chat.NoteKind, shared bool, limit int) ([]chat.RoomNote, error)
	ChatRoom(ctx context.Context, connector, id string) (chat.Room, error)
	DirectRoom(ctx context.Context, author chat.EntityID) (chat.Room, error)
}

// Schedule is a task for certain times.
type Schedule struct {
	Name   string
	Times  Times
	Spec   string        // identifies Times: if it changes, earlier times don't count as missed
	Jitter time.Duration // each time is later by up to this
	Once   bool          // the latest time that was missed is made up for
	Drop   bool          // times in quiet hours are left out; otherwise the latest one waits
	What
}

// Times are the times of a schedule.
type Times interface {
	// Last returns the newest time that is not after t; zero if there is none.
	Last(t time.Time) time.Time
}

// What is the content of a task.
type What struct {
	Room  string // "platform:id" of a chat, or of an account for its direct chat
	Text  string
	Speak bool // Text is sent as the agent's message; otherwise the agent answers it
}

// Tasks does the tasks of the configuration. It is safe for concurrent use after the plugin's Init.
type Tasks struct {
	Options
	hooks    map[string]*hook
	agents   map[string]*hook
	services action.Services // from Init on
}

// New returns the tasks.
func New(o Options) *Tasks {
	t := &Tasks{Options: o, hooks: map[string]*hook{}, agents: map[string]*hook{}}
	for _, h := range o.Hooks {
		t.hooks[h.Name] = &hook{Hook: h}
	}
	for _, a := range o.Agents {
		t.agents[a.Name] = &hook{Hook: Hook{Name: a.Name, Secret: a.Token, PerMinute: agentPerMinute}}
	}
	return t
}

// Plugin returns the plugin that keeps the schedules. Hooks can be received after its Init.
func (t *Tasks) Plugin() action.Plugin {
	return action.Plugin{
		Name: Name, Initiative: true,
		Init: func(_ context.Context, s action.Services) error {
			t.services = s
			return nil
		},
		Work: t.work,
	}
}

// room finds the room of a chat, or the direct chat of an account. It fails with [chat.ErrNotFound] if the agent knows
// neither: no one has written there yet.
func (t *Tasks) room(ctx context.Context, place string) (chat.Room, error) {
	connector, id, _ := strings.Cut(place, ":")
	room, err := t.Store.ChatRoom(ctx, connector, id)
	if errors.Is(err, chat.ErrNotFound) {
		return t.Store.DirectRoom(ctx, chat.EntityID(connector+"/"+id))
	}
	return room, err
}

// unreachable reports whether err means that a room can't be written to, now or later.
func unreachable(err error) bool {
	return errors.Is(err, chat.ErrNotFound) || errors.Is(err, chat.ErrUnreached)
}
