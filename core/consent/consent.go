// Package consent asks users for consent: for a call of an action that needs an approval, a call that may repeat a text
// which the model has read, an answer that exceeds a soft limit of money.
//
// All of them follow one protocol. The subject is described completely, with options below. The run is parked until a
// user has chosen or the time is over. When it continues, in any process, the same code runs again and [Of] returns the
// state of the request:
//
//	Open    not asked yet: call Ask
//	Chosen  a user has chosen an option; check their rights again, since up to an hour has passed
//	Late    no user has chosen in time
//	Unseen  users can't see the question here
//
// Rights come from the account that chose, never from text.
package consent

import (
	"context"
	"errors"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
)

// Run is the run that asks: see [action.Call].
type Run interface {
	// Chose returns the question about subject that the run has waited for, if a user chose. It fails with the error of
	// the store.
	Chose(ctx context.Context, subject string) (q chat.Question, ok bool, err error)
	// Waited reports whether the run has waited for subject.
	Waited(subject string) bool
	// Park shows description and parks the run. It always fails: with [chat.ErrParked], which the caller returns, with [chat.ErrUnseen] if
	// the question can't be shown, or with the cause of ctx.
	Park(ctx context.Context, description string, w action.Wait) error
}

// Request is a request for consent.
type Request struct {
	Subject     string         // identifies it among all waits of the run; the first word can be shared by several
	Description string         // the complete description, unless Details are set
	Details     string         // as in [chat.Question]
	Other       string         // as in [chat.Question]
	Options     []string       // in the order of display; none: users are asked elsewhere, and [schedule.ParkedRuns] ends the wait
	Approval    bool           // as in [chat.Question]
	Edit        *chat.Edit     // likewise
	Fields      []answer.Field // likewise; see [Form]
	Files       []chat.Attachment
	From        []chat.EntityID // the users who can choose; empty is the author of the message
	Until       time.Time
	Lasting     bool // later messages are answered meanwhile, and don't end the run
}

// State is the state of a request.
type State int

// The states.
const (
	Open State = iota
	Chosen
	Late
	Unseen
)

// Of returns the state of the request about subject, with the question and its choice if it is [Chosen]. It fails with
// the error of the store.
func Of(ctx context.Context, run Run, subject string) (State, chat.Question, error) {
	q, chosen, err := run.Chose(ctx, subject)
	switch {
	case err != nil:
		return Open, q, err
	case chosen:
		return Chosen, q, nil
	case run.Waited(subject):
		return Late, q, nil
	}
	return Open, q, nil
}

// Ask asks for r. It returns [Unseen] if r has options that users can't see, and always fails otherwise: with [chat.ErrParked] while the run waits, or with the
// cause of ctx if the turn ended while the question was being shown.
func Ask(ctx context.Context, run Run, r Request) (State, error) {
	w := action.Wait{For: r.Subject, Until: r.Until, Lasting: r.Lasting}
	if len(r.Options) > 0 {
		w.Ask = &chat.Question{Options: r.Options, Other: r.Other, Fields: r.Fields, Files: r.Files, Details: r.Details, Edit: r.Edit, Approval: r.Approval, For: r.From}
	}
	err := run.Park(ctx, r.Description, w)
	switch {
	case w.Ask != nil && errors.Is(err, chat.ErrUnseen):
		return Unseen, nil
	case ctx.Err() != nil:
		return Open, context.Cause(ctx)
	case err == nil: // it would count as consent
		return Open, errors.New("the run does not wait for a consent")
	}
	return Open, err
}

// maxQuoted is the maximum length of a quoted text, in characters. Users can't judge longer ones.
const maxQuoted = 1500

// Quote returns txt for a block of code in a description. ok is false if it is too long to be shown completely: then users can't agree to
// it. Invisible characters are made visible, and backticks replaced, so that txt can't end the block or imitate another text.
func Quote(txt string) (quoted string, ok bool) {
	if len([]rune(txt)) > maxQuoted {
		return "", false
	}
	return strings.ReplaceAll(text.Visible(txt), "`", "'"), true
}
