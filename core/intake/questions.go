package intake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/core/text"
	"parley/internal/contain"
)

// Bounds of questions that hold on every platform: Telegram's and Discord's buttons could show more, but not well.
const (
	maxLabel     = 60              // characters of an option
	openFor      = time.Hour       // the time limit of a question
	awaitedFor   = 5 * time.Minute // the same when an action waits for the choice, and with it its turn
	maxAnswers   = 10              // earlier answers that can end after a question was asked; far fewer run at a time
	noHandlerFmt = "there is no choice handler %q"
)

// QuestionStore contains the store methods of [Questions].
type QuestionStore interface {
	access.PresenceStore
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	QuestionOf(ctx context.Context, run chat.RunID) (chat.Question, error)
	Reopen(ctx context.Context, id chat.RunID) error
	Retire(ctx context.Context, id string) (chat.Accepted, error)
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
	Withdraw(ctx context.Context, room chat.RoomID, run chat.RunID) error
}

// Questions completes the questions of the agent, and holds the handlers of choices. Its exported fields are set, and
// all handlers added, before use. Then it is safe for concurrent use.
type Questions struct {
	Store QuestionStore
	Lanes *schedule.Lanes

	handlers map[string]action.ChoiceHandler
}

// Handle adds handlers. A later handler replaces an earlier one with the same name.
func (qs *Questions) Handle(handlers ...action.ChoiceHandler) {
	if qs.handlers == nil {
		qs.handlers = map[string]action.ChoiceHandler{}
	}
	for _, h := range handlers {
		qs.handlers[h.Name()] = h
	}
}

// Handles reports whether there is a handler of that name.
func (qs *Questions) Handles(name string) bool { return qs.handlers[name] != nil }

// Complete checks and completes a question that is about to be asked. Options come from actions and models, so they are cleaned and cut. It
// fails if the question has no options, too many, an empty one, or names no handler.
func (qs *Questions) Complete(q chat.Question) (chat.Question, error) {
	if qs.handlers[q.Handler] == nil {
		return q, fmt.Errorf(noHandlerFmt, q.Handler)
	}
	if n := len(q.Options); n == 0 && q.Other == "" || n > action.MaxOptions {
		return q, fmt.Errorf("a question with %d options", n)
	}
	if len(q.Fields) > 0 {
		if err := answer.CheckFields(q.Fields); err != nil {
			return q, err
		} else if q.Other == "" || len(q.Options) == 0 || q.Handler == action.AsMessage {
			return q, errors.New("a form can be opened and refused, and is no message")
		}
	}
	q = text.CleanAll(q)
	q.Options, q.Other = slices.Clone(q.Options), shortLabel(q.Other)
	for i, o := range q.Options {
		if q.Options[i] = shortLabel(o); q.Options[i] == "" {
			return q, errors.New("an option without text")
		}
	}
	q.ID, q.Asked = rand.Text(), time.Now()
	if q.Expires.IsZero() {
		q.Expires = q.Asked.Add(openFor)
		if q.Handler == action.Awaited {
			q.Expires = q.Asked.Add(awaitedFor)
		}
	}
	q.Choice, q.By, q.Name, q.BilledTo, q.ResultRun = 0, "", "", "", ""
	return q, nil
}

// shortLabel returns the visible characters of an option, in one line.
func shortLabel(option string) string {
	label := []rune(strings.Join(strings.Fields(text.Visible(option)), " "))
	return string(label[:min(len(label), maxLabel)])
}

// Text returns the text above the options. It is in the verdict of the run that asked, as long as that is kept, and
// then in the agent's message. It fails with the error of the store.
func (qs *Questions) Text(ctx context.Context, q chat.Question) (string, error) {
	run, err := qs.Store.Run(ctx, q.Run)
	if err != nil {
		return "", err
	}
	if run.Verdict != nil {
		return run.Verdict.Text, nil
	}
	m, err := qs.Store.Memory(ctx, run.Said())
	return m.Text, chat.Unless(err, chat.ErrNotFound)
}

// CarryOut calls the handler that the answered question q names, and returns its text; of a question that was closed without a
// choice, that of an [action.RetiredHandler]. refused reports that the text is a [chat.Refused]. A panic of the handler is an error of this call alone.
func (qs *Questions) CarryOut(ctx context.Context, q chat.Question) (says string, refused bool, err error) {
	h := qs.handlers[q.Handler]
	if h == nil {
		return "", false, fmt.Errorf(noHandlerFmt, q.Handler)
	}
	defer contain.Recover(&err, "the choice handler")
	if r, ok := h.(action.RetiredHandler); q.By != "" {
		says, err = h.Chosen(ctx, q)
	} else if ok {
		says, err = r.Retired(ctx, q)
	}
	if why := chat.Refused(""); errors.As(err, &why) {
		says, refused, err = string(why), true, nil
	}
	return text.Visible(says), refused, err
}

// RetireNotice closes the question of the notice with key in room without a choice, and removes its buttons, if there
// is such a question and it was not answered. It fails with the error of the store.
func (qs *Questions) RetireNotice(ctx context.Context, room chat.RoomID, key string) error {
	q, err := qs.OfNotice(ctx, room, key)
	if err != nil || q.ResultRun != "" {
		return chat.Unless(err, chat.ErrNotFound)
	}
	return qs.retire(ctx, q)
}

// RetireClosed ends the question of a notice that was closed while the notice was being written, which its result can't do before. Without a choice,
// a run removes the buttons. With one, its result is shown again: both runs have written the same messages. That repeats the handler, as after a
// crash, and is done for the handler with the name again only. It fails with the error of the store.
func (qs *Questions) RetireClosed(ctx context.Context, run chat.RunID, again string) error {
	q, err := qs.Store.QuestionOf(ctx, run)
	switch {
	case err != nil || q.Run != run || q.Open(time.Now()) || q.ResultRun != "" && q.Handler != again:
		return chat.Unless(err, chat.ErrNotFound)
	case q.ResultRun != "":
		err = qs.Store.Reopen(ctx, q.ResultRun)
	default:
		_, err = qs.Store.Retire(ctx, q.ID)
	}
	if err == nil {
		qs.Lanes.Wake(schedule.Lane{Room: q.Room, Control: true})
	}
	return chat.Unless(err, answer.ErrLost)
}

// OfNotice returns the question of the notice with key in room, or [chat.ErrNotFound].
func (qs *Questions) OfNotice(ctx context.Context, room chat.RoomID, key string) (chat.Question, error) {
	run, err := qs.Store.RunOf(ctx, chat.NoticeID(room, key))
	if err != nil {
		return chat.Question{}, err
	}
	return qs.Store.QuestionOf(ctx, run.ID)
}

// WithdrawNotice closes that question in the store alone, so that an edit of the message shows it no more, and reports whether it was answered
// before. It fails with the error of the store.
func (qs *Questions) WithdrawNotice(ctx context.Context, room chat.RoomID, key string) (answered bool, err error) {
	q, err := qs.OfNotice(ctx, room, key)
	if err != nil || q.ResultRun != "" {
		return q.ResultRun != "", chat.Unless(err, chat.ErrNotFound)
	}
	return false, qs.Store.Withdraw(ctx, q.Room, q.Run)
}

// retire closes q without a choice. If its messages can still be edited, a run removes the buttons from them; otherwise
// the question is only closed in the store. It fails with the error of the store.
func (qs *Questions) retire(ctx context.Context, q chat.Question) error {
	asker, err := qs.Store.Run(ctx, q.Run)
	if err != nil {
		return chat.Unless(err, chat.ErrNotFound) // it has expired, and there is nothing to edit
	}
	asked, err := qs.Text(ctx, q)
	if err != nil {
		return err
	}
	removed, err := access.BotRemoved(ctx, qs.Store, asker)
	if err != nil {
		return err
	}
	itself := q.Handler == action.Parked // its run continues when the time is over, without the options
	if itself || asker.Outcome.Status != answer.Completed || len(asker.Shown) == 0 || asked == "" || removed {
		return qs.Store.Withdraw(ctx, q.Room, q.Run)
	}
	if _, err := qs.Store.Retire(ctx, q.ID); err != nil {
		return chat.Unless(err, answer.ErrLost) // another user was faster
	}
	qs.Lanes.Wake(schedule.Lane{Room: q.Room, Control: true})
	return nil
}
