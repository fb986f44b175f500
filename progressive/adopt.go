package progressive

import (
	"context"
	"errors"
	"slices"

	"parley/core/chat"
)

const (
	mostGuesses = 3
	mostRuns    = 1000 // of a chat whose journal is read; in a chat with more no id is guessed
)

// Guesser is a [Sink] whose messages have ids that can be guessed, because they follow each other.
type Guesser interface {
	// Guesses returns the ids that follow the question's, the likeliest first, and the room whose journal, with that of its
	// topics, holds all messages of the bot in the chat. There are none where an edit could change another message.
	Guesses() (ids []string, room chat.RoomID)
}

// Journal returns the messages that the runs of a chat show, or may show.
type Journal func(ctx context.Context, room chat.RoomID, most int) (map[chat.RunID][]chat.Shown, error)

// adoption finds the beginning of an answer whose create request was in flight when an earlier process died. The beginning
// would stay above the whole answer. It can't be asked for, but an edit of the right id changes it to the answer, and one of
// any message of a user is refused. Ids of the bot's other messages are in the journal, and are left out; while any other
// create request in the chat has an unknown outcome, nothing is guessed. No message is deleted by a guessed id.
type adoption struct {
	ids     []string
	room    chat.RoomID
	run     chat.RunID
	journal Journal
}

// newAdoption returns the guesses for run. There are none unless its first message is a beginning of unknown fate.
func newAdoption(s Sink, run chat.Run, j Journal) (a adoption) {
	g, ok := s.(Guesser)
	lost := func(h chat.Shown) bool { return h.Part == 0 && h.ID == "" && !h.Last && !h.Gone }
	if !ok || j == nil || len(run.Inputs) == 0 || len(run.Shown) != 1 || !lost(run.Shown[0]) {
		return adoption{}
	}
	a.ids, a.room = g.Guesses()
	a.ids = a.ids[:min(len(a.ids), mostGuesses)]
	a.run, a.journal = run.ID, j
	return a
}

// step returns the edit of a guessed message in place of s, if s would create the first message again.
func (a *adoption) step(s step) step {
	if len(a.ids) > 0 && s.op == Post && s.index == 0 {
		return step{op: Edit, part: s.part, guess: a.ids[0]}
	}
	return s
}

// check removes the guesses that are known messages of the bot, all of them if that can't be known. It reports whether id is
// still one.
func (a *adoption) check(ctx context.Context, id string) (free bool, err error) {
	shown, err := a.journal(ctx, a.room, mostRuns)
	if err != nil {
		a.ids = nil
		return false, err
	}
	for run, all := range shown {
		for _, h := range all {
			if h.ID == "" && run != a.run || len(shown) >= mostRuns {
				a.ids = nil
				return false, nil
			}
			a.ids = slices.DeleteFunc(a.ids, func(id string) bool { return id == h.ID })
		}
	}
	return slices.Contains(a.ids, id), nil
}

// adopt edits the message with the guessed id to s. If the platform refuses that for good, it is another message, or none.
func (m *Message) adopt(ctx context.Context, s step, leave func(error), note func(chat.Shown) error) error {
	h := m.partAt(s.index)
	if free, err := m.adoption.check(ctx, s.guess); !free {
		leave(ErrUnused)
		if err != nil {
			m.log.Warn("can't look for the beginning of the answer; it may stay above", "err", err)
		}
		return nil
	}
	err := markAmbiguous(ctx, m.editor.Edit(ctx, s.guess, s.part))
	leave(m.withBudgetHint(err))
	switch {
	case err == nil:
		m.adoption.ids = nil
		intent := h.intent
		*h = partState{state: posted, id: s.guess, sent: s.part, confirmed: true, intent: intent, refusedText: h.refusedText}
		m.succeeded()
		return note(postedRecord(s.guess, intent))
	case errors.Is(err, ErrForbidden), errors.As(err, new(RetryAfter)):
		return m.failed(s, err)
	case errors.Is(err, ErrUnsent), errors.Is(err, ErrAmbiguous) && m.failures+1 < editLimit(m.prober):
		return m.retry(s, err)
	case errors.Is(err, ErrUnparsable) && s.part.Text != "":
		h.refusedText = s.part.Text
	default:
		m.adoption.ids = slices.DeleteFunc(m.adoption.ids, func(id string) bool { return id == s.guess })
	}
	return nil
}
