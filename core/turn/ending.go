package turn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/toolcall"
	"parley/internal/lang"
)

// EndStore contains the store methods of [Endings].
type EndStore interface {
	access.PresenceStore
	access.EntityStore
	File(ctx context.Context, run chat.RunID, n int) (llm.File, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
}

// Endings decides how turns end. Its fields are set before use. It is safe for concurrent use.
type Endings struct {
	Store     EndStore
	Agent     chat.Agent
	Bots      access.BotAccess
	Pairing   *access.Pairing
	Handovers *access.Handovers
	Approvals *consent.Approvals
	After     *Evaluators
	Log       *slog.Logger
}

// ending decides how a turn ends.
type ending struct {
	*Endings
	at      *attempt
	journal *journal
	calls   *toolcall.Calls
	gen     *generate.Writer
	asking  *asking
	waiting *waiting
	files   []llm.File // stored with the verdict
}

// decide returns the verdict on an answer whose generation ended with err. It fails with err if this holder must not decide
// it.
func (e *ending) decide(err error) (*chat.Verdict, error) {
	if e.at.life.Err() != nil {
		return nil, context.Cause(e.at.life)
	}
	if err == nil {
		err = e.journal.Settle()
	}
	if cause := context.Cause(e.at.work); cause != nil {
		err = cause
	}
	if errors.Is(err, answer.ErrLost) || errors.Is(err, chat.ErrParked) { // nothing more is shown
		return nil, err
	}
	if err != nil || e.at.run.Epoch > 1 { // an earlier process may have asked about a call that is not made
		e.abandon()
	}
	e.calls.EndCalls(err)
	if err != nil {
		e.waiting.close()
	}
	e.waiting.hold.notice("")
	v := e.verdict(err)
	return &v, nil
}

// verdict returns the verdict on a run that ended with err: its final text, its memory, and whether its messages are
// deleted. It adds the end note to the answer. A failure is not shown if no user waits for the answer, or if a bot
// would reply to it.
func (e *ending) verdict(err error) chat.Verdict {
	o := answer.Outcome{Status: chat.StatusOf(err)}
	if o.Status == answer.Completed || o.Status == answer.Ignored {
		o.Reason = e.at.reason
	}
	if o.Status == answer.Failed || o.Status == answer.TimedOut {
		o.Failure = chat.FailureOf(err)
		e.Log.Error("a run failed", "run", e.at.run.ID, "kind", o.Failure, "err", err)
	}
	v := e.at.answer.View().Remembered()
	alone := v.Text() == ""
	o.Partial = o.Failure != "" && (!alone || errors.Is(err, errCutOff))
	muted := o.Failure != "" && (e.at.unattended() || e.fromBot(e.at.life))
	o.Withdrawn = alone && (muted || errors.Is(err, errUnshown)) || !errors.Is(err, errReplaced) && e.shouldWithdraw(o.Status, v)
	if m := endNote(e.at.life, o, err, alone); m != "" && !o.Withdrawn && !muted {
		if o.Failure != "" {
			m = chat.JoinParagraphs(m, e.askPerson())
		}
		e.at.answer.Apply(answer.Change{Kind: answer.Text, Step: markStep, Text: m})
		v = e.at.answer.View().Remembered()
	}
	if o.Status == answer.Completed {
		o.Offer = e.asking.offering()
	}
	o.Usage, o.Effort = quota.UsageOf(e.at.life, e.at.run.Attempts > 0), e.gen.Trace.Effort
	o.Ping = e.notifies(o)
	var snapshot answer.CallSnapshot
	calls := snapshot.Keep(v)
	e.files = snapshot.Files
	return chat.Verdict{
		Outcome: o, Text: v.Text(), History: v.History, Calls: calls,
		Thought: e.gen.Trace.Thought, Actions: e.gen.Trace.Actions, Providers: e.gen.Trace.Providers, Files: len(v.Files()),
	}
}

// askPerson asks for a person if the answer before this one failed, too, once for all failures in a row. It returns the sentence for the user, or "".
func (e *ending) askPerson() (said string) {
	if !(AskPerson{e.Handovers}).Available(e.at.turn) {
		return ""
	}
	err := e.journal.persist(e.at.life, func() error {
		recent, err := e.Store.Recent(e.at.life, e.at.run.Room, chat.Said, 0, prompt.Window)
		failed := 0
		for _, m := range slices.Backward(recent) {
			if m.Author != e.Agent.Entity() || m.InReplyTo == "" {
				continue
			} else if m.Failure == "" {
				break
			}
			failed++
		}
		if err == nil && failed == 1 {
			said, _, err = e.Handovers.Ask(e.at.life, e.at.turn.Message, access.Failing)
		}
		return chat.Unless(chat.Unless(err, chat.ErrNotFound), chat.ErrUnreached)
	})
	if err != nil || said == lang.Say(e.at.life, "person.none") { // the user has not asked for a person
		return ""
	}
	return said
}

// notifies reports whether the end of the answer notifies the asker: they have waited long, want it, and have not written since.
func (e *ending) notifies(o answer.Outcome) bool {
	run, since := e.at.run, e.at.run.Opened
	if (run.Retried != 0 || e.at.reopened()) && e.waiting.from == nil || e.askerChose() { // they have just asked again, or decided
		since = e.at.info.Start
	}
	if !e.at.posts || !run.Kind.Claims() || o.Withdrawn || !slices.Contains([]answer.Status{answer.Completed, answer.Failed, answer.TimedOut}, o.Status) || time.Since(since) <= chat.SlowAfter {
		return false
	}
	reading := false
	err := e.journal.persist(e.at.life, func() error {
		asker, err := e.Store.Entity(e.at.life, run.Author)
		if chat.Unless(err, chat.ErrNotFound) != nil {
			return err
		}
		reading = asker.Details[chat.NotifyDetail] != ""
		open, err := e.journal.Store.OpenRuns(e.at.life, run.Room)
		for _, r := range open {
			reading = reading || r.Author == run.Author && r.Response > run.Response && r.Kind.Claims()
		}
		for _, kind := range []chat.MemoryKind{chat.Said, chat.KindCommand} {
			var recent []chat.Memory
			if err == nil {
				recent, err = e.Store.Recent(e.at.life, run.Room, kind, 0, prompt.Window)
			}
			reading = reading || slices.ContainsFunc(recent, func(m chat.Memory) bool {
				return m.Author == run.Author && m.At.After(since) && !slices.Contains(run.Inputs, m.ID)
			})
		}
		return err
	})
	return err == nil && !reading
}

// askerChose reports whether the run has waited for the asker, who has answered.
func (e *ending) askerChose() bool {
	if e.waiting.from == nil {
		return false
	}
	var q chat.Question
	err := e.journal.persist(e.at.life, func() (err error) {
		q, _, err = chose(e.at.life, e.waiting.store, e.at.run.ID, e.waiting.from.For)
		return err
	})
	return err == nil && q.By == e.at.run.Author
}

// stoppedByRemoval returns v for an answer that users removed before they saw its end: as stopped, although the model had
// finished.
func stoppedByRemoval(ctx context.Context, v chat.Verdict) chat.Verdict {
	if v.Outcome.Status != answer.Completed {
		return v // it has a reason already
	}
	v.Outcome.Status, v.Outcome.Offer = answer.Stopped, nil
	v.Text = strings.TrimSpace(v.Text + "\n\n" + endNote(ctx, v.Outcome, ErrRemoved, v.Text == ""))
	return v
}

// maxWithdrawn is the maximum length of a text that can be deleted when its run is superseded, in characters.
const maxWithdrawn = 24

// shouldWithdraw reports whether the visible part of an interrupted answer is deleted. A few words plus a notice don't
// help a reader.
func (e *ending) shouldWithdraw(s answer.Status, v answer.View) bool {
	switch s {
	case answer.Superseded: // users have read at most a few words of it, and nothing was changed
		return e.calls.Acting() == "" && (e.at.posts && !e.journal.visible() || modelTextLength(v) < maxWithdrawn)
	case answer.Stopped: // because the question was deleted, or the agent removed, or a person answers instead
		return e.questionsDeleted() || e.botRemoved() || v.Text() == "" && e.takenOver()
	}
	return false
}

// questionsDeleted reports whether all messages that the run answers were deleted.
func (e *ending) questionsDeleted() bool {
	var run chat.Run
	err := e.journal.persist(e.at.life, func() (err error) {
		run, err = e.journal.Store.Run(e.at.life, e.at.run.ID)
		return err
	})
	return err == nil && len(run.Inputs) == 0
}

// botRemoved reports whether the agent was removed from the room of the answer.
func (e *ending) botRemoved() (removed bool) {
	err := e.journal.persist(e.at.life, func() (err error) {
		removed, err = access.BotRemoved(e.at.life, e.Store, e.at.run)
		return err
	})
	return err == nil && removed
}

// takenOver reports whether a person has taken over the conversation.
func (e *ending) takenOver() (talks bool) {
	err := e.journal.persist(e.at.life, func() (err error) {
		talks, err = e.Handovers.Talks(e.at.life, e.at.run.Room)
		return err
	})
	return err == nil && talks
}

// modelTextLength returns the length of the model's text, in characters, without the statuses of actions.
func modelTextLength(v answer.View) (n int) {
	for _, s := range v.Segments {
		if s.Call == "" {
			n += utf8.RuneCountInString(s.Text)
		}
	}
	return n
}

// answerMemory returns the memory of the run's answer, or a zero one if none is kept.
func (e *ending) answerMemory(v chat.Verdict) chat.Memory {
	if v.Text == "" && v.Files == 0 || v.Outcome.Withdrawn {
		return chat.Memory{}
	}
	m := chat.Memory{
		ID: e.at.run.Said(), Room: e.at.run.Room, Author: e.Agent.Entity(), Name: e.Agent.Name, At: time.Now(),
		Text: v.Text, Thought: v.Thought, Actions: v.Actions, Providers: v.Providers, History: v.History, Calls: v.Calls,
		Failure: v.Outcome.Failure, Interrupted: v.Outcome.Interrupted(),
	}
	if n := len(e.at.run.Inputs); n > 0 {
		m.InReplyTo = e.at.run.Inputs[n-1]
	}
	if e.at.run.Kind.OutOfBand() {
		m.Kind = chat.KindCommand
	}
	if e.at.run.Kind == chat.RunNotify { // its input is the draft of its text
		m.InReplyTo = e.at.run.Address.ReplyTo
	}
	return m
}

// fromBot reports whether a bot has asked. A bot never gets a failure as a reply: it could reply to that, without end.
func (e *ending) fromBot(ctx context.Context) bool {
	n := len(e.at.run.Inputs)
	if n == 0 || e.Bots != access.BotsMention {
		return false
	}
	var author chat.Entity
	err := e.journal.persist(ctx, func() error {
		m, err := e.journal.Store.Memory(ctx, e.at.run.Inputs[n-1])
		if err == nil {
			author, err = e.Store.Entity(ctx, m.Author)
		}
		return chat.Unless(err, chat.ErrNotFound)
	})
	return err == nil && author.Bot
}

// abandon closes the approvals and questions of a run that ends without waiting for them any longer.
func (e *ending) abandon() {
	err := e.journal.persist(e.at.life, func() error { return e.Approvals.Abandon(e.at.life, e.at.run, e.waiting.waitedFor()) })
	if err != nil {
		e.Log.Warn("an approval can't be closed; it ends by itself", "run", e.at.run.ID, "err", err)
	}
}

// setAside logs that the run gets no further attempt, and notifies the owners. A failed notification is only logged:
// the log has the event, too.
func (e *ending) setAside() {
	e.Log.Error("a run is set aside because processes crashed while running it; retry it with `gateway runs retry`",
		"run", e.at.run.ID, "room", e.at.run.Room, "deaths", e.at.run.Deaths, "blamed", e.at.run.Blamed, "attempts", e.at.run.Attempts)
	if e.at.run.Kind == chat.RunNotify { // it could be this very notification
		return
	}
	if err := e.Pairing.TellOwners(e.at.life, fmt.Sprintf("set-aside/%s/%d", e.at.run.ID, e.at.run.Retried), "owner.set_aside"); err != nil {
		e.Log.Warn("can't tell the owner about a run that is set aside", "run", e.at.run.ID, "err", err)
	}
}

// unconfirmed logs that users may not see the end of an answer, notifies the owners, and returns v with a note for the
// next prompt.
func (e *ending) unconfirmed(v chat.Verdict) chat.Verdict {
	e.Log.Error("the end of an answer may not have arrived: the platform failed each time it was sent", "run", e.at.run.ID)
	v.Text = strings.TrimSpace(v.Text + "\n\n" + answer.Unconfirmed)
	if e.at.run.Kind == chat.RunNotify { // it could be a notification about this
		for _, id := range e.at.run.Inputs {
			if err := e.Handovers.Unconfirmed(e.at.life, e.at.run.Room, id); err != nil {
				e.Log.Warn("can't tell the author of a message that it may not have arrived", "run", e.at.run.ID, "err", err)
			}
		}
		return v
	}
	if err := e.Pairing.TellUnconfirmed(e.at.life); err != nil {
		e.Log.Warn("can't tell the owner about an answer that may not have arrived", "run", e.at.run.ID, "err", err)
	}
	return v
}

// refused ends the talk of a notice that the platform has refused to post: its words have reached no one.
func (e *ending) refused() {
	err := e.journal.persist(e.at.life, func() (err error) {
		for _, id := range e.at.run.Inputs {
			err = errors.Join(err, e.Handovers.Refused(e.at.life, e.at.run.Room, id))
		}
		return err
	})
	if err != nil {
		e.Log.Warn("a talk whose message was refused can't be ended", "run", e.at.run.ID, "err", err)
	}
}

// filesOf returns the files of a call, for a process that shows the end of another process's answer. Expired files are
// left out.
func (e *ending) filesOf(c answer.PastCall) (all []llm.File) {
	for _, f := range c.Files {
		b, err := e.Store.File(e.at.life, e.at.run.ID, f.N)
		if err == nil {
			b.Caption = f.Caption
			all = append(all, b)
		} else if !errors.Is(err, chat.ErrNotFound) {
			e.Log.Warn("a file can't be restored", "run", e.at.run.ID, "err", err)
		}
	}
	return all
}

var (
	errAnswered = errors.New("the answer is complete without a model")
	errCutOff   = errors.New("the process died while an action wrote") // the action may have happened, and is not repeated
	errReplaced = fmt.Errorf("a later request has replaced the one that the run waited for: %w", chat.ErrSuperseded)
	errUnshown  = fmt.Errorf("the conversation no longer accepts messages: %w", chat.ErrStopped)
)

// Text segments that no round of the model wrote have steps after all rounds.
const markStep = 1 << 20

// endNote returns the short text that tells users why an answer is incomplete, after text or alone. It is stored with
// the answer, so that it is also in the next prompt.
func endNote(ctx context.Context, o answer.Outcome, err error, alone bool) string {
	sentence := ""
	switch {
	case errors.Is(err, errCutOff):
		sentence = lang.Say(ctx, "turn.cut_off")
	case errors.Is(err, errReplaced): // no answer repeats this one's question, so the asker reads why it has no other end
		sentence = lang.Say(ctx, "approval.later")
	case o.Status == answer.Stopped:
		sentence = lang.Say(ctx, "turn.stopped")
	case o.Status == answer.Superseded:
		sentence = lang.Say(ctx, "turn.superseded")
	case o.Failure != "":
		sentence = o.Failure.Sentence(lang.Of(ctx))
	}
	if sentence == "" || alone {
		return sentence
	}
	return "_(" + sentence + ")_"
}
