package turn

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
)

// SessionStore contains the store methods of [Sessions].
type SessionStore interface {
	Entity(ctx context.Context, id chat.EntityID) (chat.Entity, error)
	Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error)
	SaveNote(ctx context.Context, n chat.RoomNote) error
}

// Sessions stores the conversations of rooms with models that remember them. Its fields are set before use. It is safe for
// concurrent use.
type Sessions struct {
	Store     SessionStore
	Pseudonym func(ctx context.Context, user chat.EntityID) (string, error) // nil: users have no ids
}

// sessions implements [parley/core/generate.Sessions] for one run. The thread and the state of a model are two notes of the room: both
// are deleted when the room is cleared, and the state also when a message that it was derived from changes.
type sessions struct {
	*Sessions
	at      *attempt
	journal *journal
}

const (
	stateKey = "state/"  // begins the keys of notes with a state; the name of the model follows
	maxState = 256 << 10 // bytes
	// threadTime is how long the notes outlive the last use. Without an end, a room would never expire.
	threadTime = 365 * 24 * time.Hour
)

// Open implements [parley/core/generate.Sessions].
func (ss *sessions) Open(ctx context.Context, model string) (*llm.Session, error) {
	s, used := &llm.Session{}, time.Time{}
	err := ss.journal.persist(ctx, func() error {
		notes, err := ss.Store.Notes(ctx, ss.at.run.Room, chat.AgentNote, chat.MaxNotes)
		for _, n := range notes {
			switch n.Key {
			case chat.ThreadKey + model:
				s.Thread, used = n.Text, n.At
			case stateKey + model:
				s.State = json.RawMessage(n.Text)
			}
		}
		return err
	})
	if err == nil && s.Thread == "" {
		s.Thread, s.New, s.State = rand.Text(), true, nil
	}
	if err == nil && time.Since(used) > threadTime/12 { // also: it is used again
		err = ss.save(ctx, chat.RoomNote{Key: chat.ThreadKey + model, Text: s.Thread, About: chat.ThreadOf(s.Thread)})
	}
	if err != nil {
		return nil, err
	}
	s.Run = action.Hash(s.Thread, string(ss.at.run.ID))
	s.User, err = ss.user(ctx)
	return s, err
}

// user returns the author of the message. It fails with the error of the store.
func (ss *sessions) user(ctx context.Context) (u llm.User, err error) {
	m := ss.at.turn.Message
	u = llm.User{Name: text.Label(m.Name), Platform: ss.at.run.Address.Connector}
	if m.Author == "" || ss.Pseudonym == nil {
		return u, nil
	}
	err = ss.journal.persist(ctx, func() error {
		e, err := ss.Store.Entity(ctx, m.Author)
		if u.Locale = cmp.Or(e.Details[chat.LanguageDetail], e.Details[chat.LocaleDetail], e.Details["language"]); chat.Unless(err, chat.ErrNotFound) != nil {
			return err
		}
		u.ID, err = ss.Pseudonym(ctx, m.Author)
		return err
	})
	return u, err
}

// Keep implements [parley/core/generate.Sessions]. A state that is too large is dropped, like one whose messages were deleted.
func (ss *sessions) Keep(ctx context.Context, model string, state json.RawMessage) error {
	if len(state) > maxState {
		ss.journal.Log.Warn("the state of an agent is too large to be kept", "run", ss.at.run.ID, "model", model, "bytes", len(state))
		state = nil
	}
	n := chat.RoomNote{Key: stateKey + model, Text: string(text.CleanJSON(state))}
	if recent := ss.at.turn.Recent; len(recent) > 0 {
		n.First, n.Last = recent[0].ID, ss.at.turn.Message.ID
	}
	return ss.save(ctx, n)
}

// save stores a note of the room. A note whose room or messages were deleted meanwhile is not stored.
func (ss *sessions) save(ctx context.Context, n chat.RoomNote) error {
	n.Room, n.Kind, n.At = ss.at.run.Room, chat.AgentNote, time.Now()
	n.Expires = n.At.Add(threadTime)
	return ss.journal.persist(ctx, func() error { return chat.Unless(ss.Store.SaveNote(ctx, n), chat.ErrNotFound) })
}
