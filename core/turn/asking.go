package turn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/relay"
	"parley/core/schedule"
	"parley/core/toolcall"
	"parley/internal/lang"
)

// AskStore contains the store methods of [Asking].
type AskStore interface {
	Ask(ctx context.Context, q chat.Question) error
	Question(ctx context.Context, id string) (chat.Question, error)
	QuestionOf(ctx context.Context, run chat.RunID) (chat.Question, error)
	Withdraw(ctx context.Context, room chat.RoomID, run chat.RunID) error
}

// Asking shows questions below answers. Its fields are set before use. It is safe for concurrent use.
type Asking struct {
	Store     AskStore
	Parking   ParkStore
	Questions Questions
	Parked    *schedule.ParkedRuns
	Live      *relay.Registry
	Log       *slog.Logger
}

// asking asks users to choose, on behalf of one run.
type asking struct {
	*Asking
	at      *attempt
	journal *journal
	calls   *toolcall.Calls
	waiting *waiting

	mu      sync.Mutex
	offered *answer.Choices // the options below the answer
}

// choicePoll is the interval of polling the store for a choice, in case the signal was lost.
const choicePoll = 2 * time.Second

// ask puts a question below the answer, at once. A later question of the same run replaces it. The channel receives the
// question when a user chooses, and is closed without it if no user chooses while the question is open and waited for.
// It fails if the question can't be shown or stored.
func (ak *asking) ask(ctx context.Context, q chat.Question) (<-chan chat.Question, error) {
	q, err := ak.put(ctx, q)
	if err != nil {
		return nil, err
	}
	answered := make(chan chat.Question, 1)
	ak.at.side.Go(func() {
		defer close(answered)
		if now, ok := ak.awaitChoice(ctx, q); ok {
			answered <- now
		}
	})
	return answered, nil
}

// put stores a question and then shows it below the answer: every visible button belongs to a stored question. It fails
// if the question can't be shown, and with the error of the store.
func (ak *asking) put(ctx context.Context, q chat.Question) (chat.Question, error) {
	q, err := ak.Questions.Complete(q)
	if err != nil {
		return q, fmt.Errorf("ask: %w", err)
	}
	q.Run, q.Room = ak.at.run.ID, ak.at.run.Room
	if err := ak.journal.persist(ctx, func() error { return ak.Store.Ask(ctx, q) }); err != nil {
		return q, fmt.Errorf("ask: %w", err)
	}
	ak.offer(q)
	return q, nil
}

// awaitChoice waits until q is closed, removes its options, and reports whether a user chose. A question that an action
// waits for is also closed when the action or the turn ends, or when it turns out that users don't see it.
func (ak *asking) awaitChoice(asker context.Context, q chat.Question) (chat.Question, bool) {
	ctx, cancel := context.WithCancelCause(ak.at.life)
	defer cancel(nil)
	if q.Handler == action.Awaited {
		for _, over := range []context.Context{asker, ak.at.work} {
			defer context.AfterFunc(over, func() { cancel(context.Cause(over)) })()
		}
		ak.at.side.Go(func() {
			if ak.at.answer.WaitSeen(ctx, answer.AllSeen) == nil { // the options are not shown
				cancel(chat.ErrUnseen)
			}
		})
	}
	now, err := ak.closed(ctx, q)
	if ak.at.life.Err() != nil {
		return q, false
	}
	ak.removeOptions(now)
	if err == nil {
		return now, now.By != ""
	}
	if err := ak.Store.Withdraw(ak.at.life, q.Room, q.Run); err != nil {
		ak.Log.Warn("an abandoned question stays open until it expires", "run", ak.at.run.ID, "err", err)
	}
	return q, false
}

// closed returns q once it is no longer open, or the cause of ctx. A choice on this replica, or on one that the bus
// reaches, is noticed at once; if that signal is lost, polling finds it a little later. While an action waits for the
// choice, the run does not count against the limits on parallel answers: its user could otherwise not ask anything
// else. Other questions do not release the place.
func (ak *asking) closed(ctx context.Context, q chat.Question) (chat.Question, error) {
	if q.Handler == action.Awaited {
		ak.at.place.Pause()
		defer ak.at.place.Resume()
	}
	for ctx.Err() == nil {
		rung := ak.Live.ChoiceMade(ak.at.run.ID)
		now, err := ak.Store.Question(ctx, q.ID)
		switch {
		case errors.Is(err, chat.ErrNotFound): // another question has taken its place
			return q, nil
		case err == nil && !now.Open(time.Now()):
			return now, nil
		case err != nil && ctx.Err() == nil:
			ak.Log.Warn("can't check whether a choice was made; trying again", "run", ak.at.run.ID, "err", err)
		}
		select {
		case <-rung:
		case <-time.After(choicePoll):
		case <-ctx.Done():
		}
	}
	return q, context.Cause(ctx)
}

// offer shows the options of q. They stay at the end of a complete answer.
func (ak *asking) offer(q chat.Question) {
	ak.mu.Lock()
	defer ak.mu.Unlock()
	ak.offered = q.Choices()
	ak.at.answer.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: ak.offered})
}

// removeOptions removes the options of q, unless there are others by now. A choice stays.
func (ak *asking) removeOptions(q chat.Question) {
	ak.mu.Lock()
	defer ak.mu.Unlock()
	if ak.offered != nil && ak.offered.ID == q.ID {
		ak.offered = nil
		ak.at.closeOptions(q)
	}
}

func (ak *asking) offering() *answer.Choices {
	ak.mu.Lock()
	defer ak.mu.Unlock()
	return ak.offered
}

// withdraw closes the questions of the run, of this and of earlier attempts, unless the answer ends with one. One of a notice that was
// closed before users have seen it loses its options. A first
// attempt without a question needs no write. It fails with the error of the store.
func (ak *asking) withdraw(o answer.Outcome) error {
	if ak.at.run.Kind == chat.RunNotify {
		return ak.journal.persist(ak.at.life, func() error { return ak.Questions.RetireClosed(ak.at.life, ak.at.run.ID, consent.Handler) })
	} else if o.Offer != nil || ak.offering() == nil && ak.at.run.Epoch < 2 {
		return nil
	}
	return ak.journal.persist(ak.at.life, func() error { return ak.Store.Withdraw(ak.at.life, ak.at.run.Room, ak.at.run.ID) })
}

// takeOver gives the result of a choice the messages of the notice that asked, if that was still being written then: its own ones follow, and are
// deleted. It fails with the error of the store.
func (ak *asking) takeOver() error {
	run := &ak.at.run
	if run.Kind != chat.RunChoiceResult || run.Verdict != nil {
		return nil
	}
	return ak.journal.persist(ak.at.life, func() error {
		q, err := ak.Store.QuestionOf(ak.at.life, run.ID)
		var asker chat.Run
		if err == nil {
			asker, err = ak.journal.Store.Run(ak.at.life, q.Run)
		}
		ended := asker.Outcome.Done() || asker.Verdict != nil
		shown := joined(asker.Shown, run.Shown)
		if err != nil || asker.Kind != chat.RunNotify || !ended || shown == nil {
			return chat.Unless(err, chat.ErrNotFound)
		}
		if err = ak.journal.note(chat.Note{Shown: shown}); err == nil {
			run.Shown, ak.journal.shown, ak.journal.posted = shown, shown, true
		}
		return err
	})
}

// joined returns the messages of a notice, and then those of the result of its choice that are not among them; nil if the result has all.
func joined(notice, result []chat.Shown) []chat.Shown {
	among := func(all []chat.Shown, s chat.Shown) bool {
		return slices.ContainsFunc(all, func(o chat.Shown) bool { return o.ID == s.ID })
	}
	if !slices.ContainsFunc(notice, func(s chat.Shown) bool { return len(result) == 0 || s.ID != "" && !among(result, s) }) {
		return nil
	}
	shown := slices.Clone(notice)
	for _, s := range result {
		if s.ID == "" || !among(notice, s) {
			s.Part = len(shown)
			shown = append(shown, s)
		}
	}
	return shown
}

// wait shows w.Ask, if there is a question, and parks the run. It returns [chat.ErrParked], which ends the turn
// here and releases its room. If users can't see the question, it withdraws it and returns its error: no user could
// wake the run.
func (ak *asking) wait(ctx context.Context, w action.Wait) error {
	if w.Ask == nil {
		if err := ak.withdraw(answer.Outcome{}); err != nil { // earlier questions
			return err
		}
		return ak.waiting.begin(w)
	}
	q := *w.Ask
	if q.ID != "" { // it was asked before, and is open
		ak.offer(q)
		return ak.waiting.begin(w)
	}
	q.Handler, q.Payload, q.Expires = action.Parked, w.For, w.Until
	if len(q.For) == 0 {
		q.For = []chat.EntityID{ak.at.turn.Message.Author}
	}
	q, err := ak.put(ctx, q)
	if err != nil {
		return err
	}
	err = ak.journal.awaitSeen(ctx)
	if err == nil && ak.at.posts && ak.at.answer.Hidden() {
		err = chat.ErrUnseen
	}
	if err != nil {
		ak.removeOptions(q)
		return errors.Join(err, ak.journal.persist(ak.at.life, func() error { return ak.Store.Withdraw(ak.at.life, q.Room, q.Run) }))
	}
	return ak.waiting.begin(w)
}

// resumeChoice runs the handler of the selected option, or removes the buttons of a question that was closed without a
// choice. If the question has messages of its own, they become this run's answer: question, choice, result. It fails
// with the error of the handler or the store.
func (ak *asking) resumeChoice(ctx context.Context) error {
	var q chat.Question
	var asked string
	err := ak.journal.persist(ctx, func() (err error) {
		if q, err = ak.Store.QuestionOf(ctx, ak.at.run.ID); err == nil {
			asked, err = ak.Questions.Text(ctx, q)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the choice: %w", err)
	}
	if q.Handler == action.Parked && q.By != "" { // wakes the run that waits; one that is just about to wait looks for the choice itself
		if err := ak.journal.persist(ctx, func() error { return ak.Parked.Continue(ctx, q.Run, q.Room) }); err != nil {
			return err
		}
	}
	goesOn := q.Handler == action.Awaited || q.Handler == action.Parked // the run that asked shows the choice itself
	took := len(ak.at.run.Shown) > 0                                    // this run was given the messages of the question
	if goesOn && !took {
		return chat.ErrNothingToSay
	}
	if ak.at.posts && took && asked != "" {
		ak.at.answer.Apply(answer.Change{Kind: answer.Text, Text: asked})
	}
	if goesOn {
		return ak.calls.RequireOutput()
	}
	says, refused, err := "", false, error(nil)
	carryOut := func() error {
		says, refused, err = ak.Questions.CarryOut(ctx, q)
		return err
	}
	if slices.Contains([]string{consent.Handler, access.ApprovalHandler, access.HandoverHandler}, q.Handler) { // these fail with the store alone, and no user could choose again
		err = ak.journal.persist(ctx, carryOut)
	} else {
		err = carryOut()
	}
	if err != nil {
		ak.Log.Error("a choice could not be carried out", "run", ak.at.run.ID, "chooser", q.Handler, "err", err)
		says = lang.Say(ctx, "turn.not_done")
	}
	if q.By != "" && !refused {
		ak.at.answer.Apply(answer.Change{Kind: answer.Text, Step: 1, Text: q.ChoiceLine(ak.at.run.RoomKind)})
		ak.at.closeOptions(q)
	}
	if says != "" {
		ak.at.answer.Apply(answer.Change{Kind: answer.Text, Step: 2, Text: says})
	}
	return ak.calls.RequireOutput()
}
