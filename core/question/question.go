// Package question prepares questions with options before they are asked, and finds out whether a message answers one.
package question

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
)

// MaxOptions bounds the options of a question, on every platform: Telegram's and Discord's buttons could show more, but not well.
const MaxOptions = 10

const (
	maxLabel   = 60              // characters of an option
	open       = time.Hour       // how long a question can be answered
	openInCall = 5 * time.Minute // the same when an action waits for the choice, and with it its turn
)

// Prepare checks and completes a question that is about to be asked. Options come from actions and models, so they are
// cleaned and cut.
func Prepare(q chat.Question) (chat.Question, error) {
	if n := len(q.Options); n == 0 || n > MaxOptions {
		return q, fmt.Errorf("a question with %d options", n)
	}
	q = text.CleanAll(q)
	q.Options = slices.Clone(q.Options)
	for i, o := range q.Options {
		label := []rune(strings.Join(strings.Fields(text.Visible(o)), " "))
		if len(label) == 0 {
			return q, errors.New("an option without text")
		}
		q.Options[i] = string(label[:min(len(label), maxLabel)])
	}
	q.ID, q.Asked = rand.Text(), time.Now()
	if q.Expires.IsZero() {
		q.Expires = q.Asked.Add(open)
		if q.Chooser == action.Awaited {
			q.Expires = q.Asked.Add(openInCall)
		}
	}
	q.Choice, q.By, q.Name, q.BilledTo, q.ResultRun = 0, "", "", "", ""
	return q, nil
}

// CanAnswer reports whether m can name an option of a question, as far as m itself tells.
func CanAnswer(m chat.Message) bool {
	return !m.Bot && m.Text != "" && len(m.Text) <= 4*maxLabel && (m.Place.Kind.Private() || m.Addressed)
}

// Store has the messages of a room.
type Store interface {
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
}

// maxAnswers is how many earlier answers are looked at that can end after a question was asked. Far fewer run at a time.
const maxAnswers = 10

// IsNewest reports whether nothing was said in the room of q since q was asked, by users or by the agent. asker is the
// run that asked. Messages have later turns than asker. The answer to an earlier message can still end later, so the
// times of what the agent said are compared, too.
func IsNewest(ctx context.Context, s Store, q chat.Question, asker chat.Run, agent chat.EntityID) (bool, error) {
	later := func(m chat.Memory) bool { return m.Author == agent && m.ID != asker.Said() && m.At.After(q.Asked) }
	for _, kind := range []chat.MemoryKind{chat.Said, chat.KindCommand, chat.Overheard} {
		newest, err := s.Recent(ctx, q.Room, kind, 0, 1)
		if err != nil {
			return false, fmt.Errorf("read the newest message: %w", err)
		}
		upTo, err := s.Recent(ctx, q.Room, kind, asker.Response, maxAnswers)
		if err != nil {
			return false, fmt.Errorf("read the messages before a question: %w", err)
		}
		if len(newest) > 0 && (len(upTo) == 0 || newest[0].ID != upTo[len(upTo)-1].ID) || slices.ContainsFunc(upTo, later) {
			return false, nil
		}
	}
	return true, nil
}
