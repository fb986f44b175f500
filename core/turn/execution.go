package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/quota"
	"parley/core/schedule"
	"parley/core/toolcall"
)

// execution is one holder's work on one run, from its start to its end or until the holder loses it. Its parts are in
// the order of their work. It is used by one goroutine; the surface, the text checkpoints and the choice waiters run
// concurrently.
type execution struct {
	*Turns
	at       *attempt
	journal  *journal
	deciding deciding
	prep     preparation
	calls    *toolcall.Calls
	gen      *generate.Writer
	asking   *asking
	waiting  *waiting
	spending *spending
	command  commandRun
	notice   notice
	ending   ending
	out      chat.Memory // the answer of the run, once it is stored
}

// begin does the work before the answer: it decides whether to answer, if that is open, claims the room, and opens the
// conversation. refused is the reason why the run has no right to the room: then it continues only to complete its
// visible part. ended reports that the run is over.
func (x *execution) begin() (surface Surface, refused error, ended bool, err error) {
	run := &x.at.run
	x.Display.Hub.Emit(event.RunStarted{RunInfo: x.at.info})
	x.Display.Hub.Follow(x.at.info, x.at.answer)
	if run.Kind == chat.RunDecide && !hasBegun(run) {
		if schedule.IsExhausted(run) {
			x.ending.setAside()
			return nil, nil, true, x.finish(chat.Verdict{Outcome: answer.Outcome{Status: answer.Failed, Failure: llm.SetAside, Withdrawn: true}})
		}
		if wanted, err := x.deciding.decide(); err != nil {
			return nil, nil, false, err
		} else if !wanted {
			return nil, nil, true, x.finish(chat.Verdict{Outcome: answer.Outcome{Status: answer.Ignored, Withdrawn: true}, Actions: x.gen.Trace.Actions})
		}
	}
	if err := x.waiting.load(x.at.life); err != nil {
		return nil, nil, false, err
	}
	// From here on the run has the room, unless refused is set. A refused run still continues if it has begun: its
	// visible part needs an end.
	refused = x.claimRoom()
	if ended := x.waiting.ended(); ended != nil {
		refused = ended
	}
	if run.Kind.Claims() {
		x.Display.Live.OnLoss(run.ID, x.at.answer, x.at.quit)
	}
	if refused == nil && len(run.Inputs) == 0 && run.Kind != chat.RunChoiceResult {
		refused = chat.ErrStopped // the question was deleted
	}
	if refused != nil && !hasBegun(run) {
		x.ending.abandon()
		return nil, nil, true, x.finish(chat.Verdict{Outcome: answer.Outcome{Status: chat.StatusOf(refused), Withdrawn: true}})
	}
	if err := x.asking.takeOver(); err != nil {
		return nil, nil, false, err
	}
	surface, err = x.Display.Open(x.at.life, *run)
	if errors.Is(err, chat.ErrUnreached) {
		x.ending.abandon()
		return nil, nil, true, x.finish(chat.Verdict{Outcome: answer.Outcome{Status: answer.Failed, Withdrawn: true}})
	} else if err != nil {
		return nil, nil, false, fmt.Errorf("open the conversation of %s: %w", run.ID, err)
	}
	x.at.posts = surface != nil
	return surface, refused, false, nil
}

// publish offers the answer to readers at other replicas, if there are any.
func (x *execution) publish() {
	if x.Display.Replicas {
		run := x.at.run
		x.at.side.Go(func() { x.Display.Live.Publish(x.at.life, run, x.at.answer) })
	}
}

// generate writes the answer, unless it is complete without a model. It fails like [generate.Writer.Write].
func (x *execution) generate(ctx context.Context) error {
	x.calls.UseToolbox(x.Generator.Tools.Live.Started(ctx))
	st, err := x.prep.prepare(ctx)
	switch {
	case errors.Is(err, errAnswered):
		return nil
	case err != nil:
		return err
	}
	hold := x.waiting.hold
	if hold.begin(); !hold.whole {
		x.gen.Pass = x.spending.budgetCheck()
		if err = x.gen.Write(ctx, st); errors.Is(err, errDeclined) {
			return nil
		}
	}
	if err == nil {
		err = hold.check(ctx)
	}
	if err == nil {
		x.speak(ctx)
	}
	return err
}

// answerAndShow writes the answer while surface shows it. surface is nil if users watch the answer as a stream. It
// fails if the run is to be continued by another attempt or process.
func (x *execution) answerAndShow(surface Surface, refused error) error {
	show, hide := context.WithCancelCause(x.at.life)
	defer hide(nil)
	shown := make(chan error, 1)
	if !schedule.IsExhausted(&x.at.run) {
		x.waiting.resume()
	}
	if surface != nil {
		go func() { shown <- x.show(show, surface) }()
	}
	stopNotes := x.journal.noteText()
	v, err := x.write(refused)
	x.at.place.Leave() // the only step left is to show it
	stopNotes()
	if errors.Is(err, chat.ErrParked) {
		return x.park(hide, shown)
	}
	return x.conclude(v, err, hide, shown)
}

// conclude ends the answer with v, and the run. It journals the verdict before users see it: a process that adopts the
// run shows the same end. After an error it does not show the end: the process that adopts the run does.
func (x *execution) conclude(v *chat.Verdict, err error, hide context.CancelCauseFunc, shown <-chan error) error {
	if err == nil && x.at.run.Verdict == nil && (x.at.posts || len(x.ending.files) > 0) {
		err = x.journal.Note(x.at.life, chat.Note{Verdict: v, Files: x.ending.files})
	}
	if err != nil {
		hide(err)
		if x.at.posts {
			<-shown
		}
		return err
	}
	if !x.at.posts { // finish stores the verdict too, so that readers who see the end of the stream find the answer stored
		return x.finish(*v)
	}
	x.at.answer.End(v.Outcome)
	last := *v
	if err := <-shown; errors.Is(err, answer.ErrLost) || x.at.life.Err() != nil {
		return errors.Join(err, context.Cause(x.at.life))
	} else if errors.Is(err, ErrRemoved) {
		last = stoppedByRemoval(x.at.life, last)
	} else if errors.Is(err, ErrUnconfirmed) {
		last = x.ending.unconfirmed(last)
	} else if err != nil && schedule.Settled(err) == nil {
		x.Endings.Log.Error("the end of the answer could not be shown", "run", x.at.run.ID, "err", err)
	} else if err == nil && x.at.run.Kind == chat.RunNotify && !last.Outcome.Withdrawn && !x.journal.created() {
		x.ending.refused()
	}
	return x.finish(last)
}

// show lets surface show the answer until the answer ends, and returns the error of surface. If surface gives up before
// the end, the turn ends too: users would not see the rest, and it would cost money for nothing.
func (x *execution) show(ctx context.Context, surface Surface) error {
	err := surface.Show(ctx, x.at.answer, x.journal.noteShown)
	if schedule.Settled(err) != nil && !errors.Is(err, ErrRemoved) { // the room was lost before the first message: only the end is shown
		select {
		case <-x.at.answer.Ended():
			err = surface.Show(ctx, x.at.answer, x.journal.noteShown)
		case <-ctx.Done():
		}
	}
	done := x.at.answer.View().Outcome.Done()
	switch {
	case errors.Is(err, ErrRemoved):
		x.at.quit(err)
	case err == nil && !done:
		x.at.quit(errUnshown)
	}
	return err
}

// claimRoom announces this turn as the latest of the room and sets the context of the turn. refused is the reason if it
// is not the latest: a later turn, or a stop.
func (x *execution) claimRoom() (refused error) {
	base, cancel := context.WithTimeoutCause(x.at.life, x.Display.Limit, chat.ErrTimeout)
	base, quit := context.WithCancelCause(base)
	x.at.quit = func(cause error) { quit(cause); cancel() }
	if x.at.work, refused = x.Journals.Claims.Claim(base, &x.at.run); refused != nil {
		quit(refused)
	}
	return refused
}

// write writes the answer and returns its verdict. An error means that this holder must not decide it: the run is lost
// or parked, or the process ends. A run that has a verdict is only shown.
func (x *execution) write(refused error) (*chat.Verdict, error) {
	if v := x.at.run.Verdict; v != nil {
		x.at.answer.Replay(v.Text, v.History, v.Calls, x.ending.filesOf)
		return v, nil
	}
	return x.ending.decide(x.produce(refused))
}

// produce writes the answer, and returns the reason if it is incomplete. The cases are in the order of the run's data:
// a run that crashed processes too often is not tried again; a run that was refused, or whose writing action may have
// happened, ends with its visible part.
func (x *execution) produce(refused error) error {
	run := &x.at.run
	switch {
	case schedule.IsExhausted(run): // without its text, which could have caused the crashes
		if refused != nil {
			return refused
		}
		x.ending.setAside()
		return schedule.ErrSetAside
	case refused != nil:
		if !run.Continues {
			x.at.answer.Replay(run.Text, nil, nil, nil)
		}
		return refused
	case run.Acting != "" && !run.Continues: // it may have happened, and must not happen again
		x.at.answer.Replay(run.Text, nil, nil, nil)
		return errCutOff
	case run.Kind == chat.RunNotify:
		return x.notice.send(x.at.work)
	case run.Kind == chat.RunCommand:
		return x.command.answer(x.at.work)
	case run.Kind == chat.RunChoiceResult:
		return x.asking.resumeChoice(x.at.work)
	}
	return x.spending.reportLimit(x.at.work, x.generate(x.at.work))
}

// park releases the run as soon as users see its question. It returns [chat.ErrParked]. If a later turn has the room by
// then, the run stays parked all the same; a stop ends it.
func (x *execution) park(hide context.CancelCauseFunc, shown <-chan error) error {
	_ = x.journal.awaitSeen(x.at.work) // an error changes nothing: the next holder shows the rest, or ends the run
	hide(chat.ErrParked)
	if x.at.posts {
		<-shown
	}
	if x.at.life.Err() != nil {
		return context.Cause(x.at.life)
	}
	quota.WaitSettled(x.at.life)
	if err := x.waiting.release(x.at.life); err != nil {
		return err
	}
	return chat.ErrParked
}

// finish ends the run and stores its answer in one transaction, then ends the answer for its readers. It closes the
// question of the run before that: a finished run can't do it any more. It fails with the error of the store.
func (x *execution) finish(v chat.Verdict) error {
	v.Outcome.Edits, v.Outcome.Holds = x.journal.edits, x.journal.refused // nothing is shown any more
	out := x.ending.answerMemory(v)
	quota.WaitSettled(x.at.life) // the next run of the room finds the settled usage of this one
	if err := x.asking.withdraw(v.Outcome); err != nil {
		return fmt.Errorf("finish %s: %w", x.at.run.ID, err)
	}
	err := x.journal.persist(x.at.life, func() error {
		if err := x.deciding.rememberSilence(v); err != nil {
			return err
		}
		return x.journal.Store.Finish(x.at.life, x.at.run.ID, x.at.run.Epoch, v.Outcome, out)
	})
	if err != nil {
		return fmt.Errorf("finish %s: %w", x.at.run.ID, err)
	}
	if out.ID != "" {
		x.Display.Hub.Emit(event.MessageSent{RunInfo: x.at.info, Message: out})
	}
	x.Display.Hub.Emit(x.ended(v.Outcome))
	x.out = out
	x.at.answer.End(v.Outcome)
	x.log(v)
	return nil
}

// AnswerLine is the message of the log line of each answer. Its attribute [HashedRoom] must be written as a hash.
const (
	AnswerLine = "answer"
	HashedRoom = "room_hash"
)

// log writes the log line of the run, without any text of it. Messages that the agent decides to ignore are only logged for debugging.
func (x *execution) log(v chat.Verdict) {
	run, o, now := x.at.run, v.Outcome, time.Now()
	level := slog.LevelInfo
	if o.Status == answer.Ignored {
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("run", string(run.ID)), slog.String(HashedRoom, string(run.Room)), slog.String("kind", cmp.Or(string(run.Kind), "reply")), slog.String("outcome", string(o.Status)),
		slog.Duration("waited", x.at.info.Start.Sub(x.at.asked()).Round(time.Millisecond)), slog.Duration("took", now.Sub(x.at.info.Start).Round(time.Millisecond)),
	}
	if o.Failure != "" {
		attrs = append(attrs, slog.String("failure", string(o.Failure)))
	}
	if u := o.Usage; u != nil {
		attrs = append(attrs, slog.String("model", strings.TrimSuffix(u.Provider+"/"+u.Model, "/")), slog.Int("calls", u.Calls), slog.Int("input", u.Prompt), slog.Int("output", u.Completion), slog.Int("edits", o.Edits))
	}
	if cost := quota.CostOf(x.at.life); cost > 0 {
		attrs = append(attrs, slog.String("cost", cost.String()))
	}
	tools := slices.DeleteFunc(slices.Clone(v.Actions), func(name string) bool { return name == "REPLY" || name == "IGNORE" })
	if len(tools) > 0 {
		attrs = append(attrs, slog.String("tools", strings.Join(tools, ",")))
	}
	x.Endings.Log.LogAttrs(x.at.life, level, AnswerLine, attrs...)
}
