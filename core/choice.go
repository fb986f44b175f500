package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/question"
	"parley/core/schedule"
	"parley/core/text"
)

// What a person is told whose choice changes nothing. Only this person sees it.
const (
	notYours   = "This choice is not yours to make."
	overNow    = "This question has closed."
	notInvited = "I only talk to people my owner has approved."
)

// choices accepts what people choose, and gives it to the handler that the question names. A choice is stored once, with the run that
// carries it out; so it survives a restart, and a second press changes nothing.
type choices struct {
	rt       *Runtime
	store    choiceStore
	handlers map[string]action.ChoiceHandler
}

// asking checks and completes a question that is about to be asked.
func (cs *choices) asking(q chat.Question) (chat.Question, error) {
	if cs.handlers[q.Chooser] == nil {
		return q, fmt.Errorf("there is no choice handler %q", q.Chooser)
	}
	return question.Prepare(q)
}

// choose accepts what a user chose, by a button or in the words that they wrote. What is not theirs to choose, or is over, changes
// nothing, and they are told so. id is the message that the choice counts as, and by which it is recognized when it is delivered again.
func (cs *choices) choose(ctx context.Context, c chat.Choice, id chat.MemoryID, wrote string) (chat.Accepted, error) {
	q, refused, err := cs.asked(ctx, c)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("choose: %w", err)
	} else if refused == overNow && q.ResultRun != "" && q.By == c.Author && q.Choice == c.Option {
		if acc, known, err := cs.rt.intake.arrived(ctx, chat.Memory{ID: id, Room: q.Room}); known || err != nil {
			acc.Altered = false
			return acc, err // the same press once more
		}
	}
	if refused != "" {
		return chat.Accepted{Refused: refused}, nil
	}
	acc, err := cs.store.Choose(ctx, q.ID, c.Option, chat.Memory{
		ID: id, Room: q.Room, Kind: chat.KindCommand, Author: c.Author, Name: text.Visible(c.Name), Text: cmp.Or(wrote, q.Options[c.Option]),
		InReplyTo: chat.Run{ID: q.Run}.Said(), At: time.Now(),
	}, cmp.Or(c.BilledTo, c.Author))
	if errors.Is(err, answer.ErrLost) {
		return chat.Accepted{Refused: overNow}, nil
	} else if err != nil {
		return chat.Accepted{}, fmt.Errorf("choose: %w", err)
	}
	if acc.Duplicate { // another press was faster; it is the same one if it chose the same
		if q, err = cs.store.Question(ctx, c.Question); err != nil {
			return chat.Accepted{}, fmt.Errorf("choose: %w", err)
		} else if q.By != c.Author || q.Choice != c.Option {
			acc = chat.Accepted{Refused: overNow}
		}
		return acc, nil
	}
	cs.rt.live.NotifyChoice(ctx, q.Run, q.Room)
	cs.rt.scheduler.wakeLane(schedule.Lane{Room: q.Room, Control: true})
	acc.Chosen = true
	return acc, nil
}

// asked returns the question that c answers, or the sentence that says why it answers none. The rights of the chooser are checked now,
// and not only when the question was asked. A question that has expired loses its buttons when a user presses one: there is
// no timer for it.
func (cs *choices) asked(ctx context.Context, c chat.Choice) (q chat.Question, refused string, err error) {
	q, err = cs.store.Question(ctx, c.Question)
	switch {
	case errors.Is(err, chat.ErrNotFound):
		return q, overNow, nil
	case err != nil:
		return q, "", err
	case q.Room != c.Room, c.Option < 0, c.Option >= len(q.Options), q.ResultRun != "":
		return q, overNow, nil
	case !q.Open(time.Now()):
		if err := cs.retire(ctx, q); err != nil {
			cs.rt.cfg.Log.Warn("closed options can't be removed", "question of", q.Run, "err", err)
		}
		return q, overNow, nil
	case !slices.Contains(q.For, c.Author):
		return q, notYours, nil
	}
	room, err := cs.store.Room(ctx, q.Room)
	if err != nil {
		return q, "", err
	}
	if in, err := cs.rt.pairing.Invited(ctx, room, c.Author, c.Roles); err != nil || in {
		return q, "", err
	}
	return q, notInvited, nil
}

// retire closes q without a choice. If it is shown in messages that can still be edited, a run removes the buttons from them; otherwise
// the question is only closed in the store.
func (cs *choices) retire(ctx context.Context, q chat.Question) error {
	asker, err := cs.store.Run(ctx, q.Run)
	if err != nil {
		return chat.Unless(err, chat.ErrNotFound) // it has expired, and there is nothing to edit
	}
	asked, err := cs.questionText(ctx, q)
	if err != nil {
		return err
	}
	removed, err := cs.rt.roster.BotRemoved(ctx, asker)
	if err != nil {
		return err
	}
	itself := q.Chooser == action.Parked // it goes on when the time is over, without the options
	if itself || asker.Outcome.Status != answer.Completed || len(asker.Shown) == 0 || asked == "" || removed {
		return cs.store.Withdraw(ctx, q.Room, q.Run)
	}
	if _, err := cs.store.Retire(ctx, q.ID); err != nil {
		return chat.Unless(err, answer.ErrLost) // another user was faster
	}
	cs.rt.scheduler.wakeLane(schedule.Lane{Room: q.Room, Control: true})
	return nil
}

// pressed accepts a button. If the option counts as a message of the chooser, that message is accepted at once, because the web API
// returns its id; the run of the choice repeats that if it fails here.
func (cs *choices) pressed(ctx context.Context, c chat.Choice) (chat.Accepted, error) {
	acc, err := cs.choose(ctx, c, chat.MemoryID("choice/"+c.Question), "")
	if err != nil || acc.Refused != "" {
		return acc, err
	}
	q, err := cs.store.QuestionOf(ctx, acc.Run)
	if err != nil { // it is chosen, and the carrier knows how to go on
		cs.rt.cfg.Log.Warn("can't read what was chosen; its run does", "run", acc.Run, "err", err)
	}
	if err != nil || q.Chooser != AsMessage {
		return acc, nil
	}
	said, err := asMessage{cs.rt}.say(ctx, q)
	if err != nil { // the carrier says it again
		cs.rt.cfg.Log.Warn("can't take a choice as a message; its run does", "run", acc.Run, "err", err)
		return acc, nil
	}
	return said, nil
}

// openFor returns the open questions that m can be an answer to, the oldest first.
func (cs *choices) openFor(ctx context.Context, m chat.Message) (asked []chat.Question, err error) {
	if !question.CanAnswer(m) {
		return nil, nil
	}
	open, err := cs.store.OpenQuestions(ctx, m.Room)
	if err != nil {
		return nil, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	for _, q := range open {
		if slices.Contains(q.For, m.Author) {
			asked = append(asked, q)
		}
	}
	return asked, nil
}

// typed reports whether m answers the newest of the questions that its author was asked here, by an option's text or number, and accepts it if
// so. Later in the conversation the same words can mean something else. The question is then answered by its buttons only.
func (cs *choices) typed(ctx context.Context, m chat.Message, asked []chat.Question) (acc chat.Accepted, ok bool, err error) {
	if len(asked) == 0 {
		return chat.Accepted{}, false, nil
	}
	q := asked[len(asked)-1]
	i, ok := answer.Choices{Options: q.Options}.Named(m.Text)
	if !ok {
		return chat.Accepted{}, false, nil
	}
	asker, err := cs.store.Run(ctx, q.Run)
	if err == nil {
		ok, err = question.IsNewest(ctx, cs.store, q, asker, cs.rt.cfg.Agent.Entity())
	}
	if err != nil || !ok {
		return chat.Accepted{}, false, chat.Unless(err, chat.ErrNotFound)
	}
	if q.Chooser == AsMessage { // which it is already
		if err := cs.retire(ctx, q); err != nil {
			return chat.Accepted{}, false, fmt.Errorf("accept %s: %w", m.ID, err)
		}
		return chat.Accepted{}, false, nil
	}
	c := chat.Choice{Question: q.ID, Option: i, Room: m.Room, Author: m.Author, BilledTo: m.Address.BilledTo, Name: m.Name, Roles: m.Roles}
	acc, err = cs.choose(ctx, c, m.ID, m.Text)
	return acc, err == nil && acc.Refused == "", err
}
