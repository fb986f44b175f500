package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/quota"
)

// of returns how an answer ends that was made with err, unless this holder must not decide that.
func (e *ending) of(err error) (*chat.Verdict, error) {
	x := e.x
	if x.life.Err() != nil {
		return nil, context.Cause(x.life)
	}
	if err == nil {
		err = x.Settle()
	}
	if cause := context.Cause(x.work); cause != nil {
		err = cause
	}
	if errors.Is(err, answer.ErrLost) || errors.Is(err, chat.ErrParked) { // not another word
		return nil, err
	}
	if err != nil {
		x.abandon()
	}
	x.toolCalls.EndCalls(err)
	v := e.verdict(err)
	return &v, nil
}

// verdict returns how a run ends that ended with err: what people see in the end, what is remembered, and what is taken back. It adds the
// end note to the answer. A failure that no person waits for, or that a bot would answer, is not shown.
func (e *ending) verdict(err error) chat.Verdict {
	x := e.x
	o := answer.Outcome{Status: chat.StatusOf(err)}
	if o.Status == answer.Failed || o.Status == answer.TimedOut {
		o.Failure = chat.FailureOf(err)
		x.rt.cfg.Log.Error("a run failed", "run", x.run.ID, "kind", o.Failure, "err", err)
	}
	v := x.answer.View().Remembered()
	alone := v.Text() == ""
	o.Partial = o.Failure != "" && (!alone || errors.Is(err, errCutOff))
	muted := o.Failure != "" && (x.unattended() || x.fromBot(x.life))
	o.Withdrawn = alone && (muted || errors.Is(err, errUnshown)) || e.leavesNothing(o.Status, v)
	if m := endNote(o, err, alone); m != "" && !o.Withdrawn && !muted {
		x.answer.Apply(answer.Change{Kind: answer.Text, Step: markStep, Text: m})
		v = x.answer.View().Remembered()
	}
	if o.Status == answer.Completed {
		o.Offer = x.asking.offering()
	}
	o.Usage = quota.UsageOf(x.life, x.run.Attempts > 0)
	var snapshot answer.CallSnapshot
	calls := snapshot.Keep(v)
	x.savedFiles = snapshot.Files
	return chat.Verdict{
		Outcome: o, Text: v.Text(), History: v.History, Calls: calls,
		Thought: x.gen.Trace.Thought, Actions: x.gen.Trace.Actions, Providers: x.gen.Trace.Providers, Files: len(v.Files()),
	}
}

// wasRemoved returns v as it ends when people removed the answer before they saw its end: as stopped, although the model had finished.
func wasRemoved(v chat.Verdict) chat.Verdict {
	if v.Outcome.Status != answer.Completed {
		return v // it says why already
	}
	v.Outcome.Status, v.Outcome.Offer = answer.Stopped, nil
	v.Text = strings.TrimSpace(v.Text + "\n\n" + endNote(v.Outcome, ErrRemoved, v.Text == ""))
	return v
}

// little is how much text may vanish when a run is superseded, in characters.
const little = 24

// leavesNothing reports whether what was shown of an answer that was cut off is taken back. A few words with a note are of no use.
func (e *ending) leavesNothing(s answer.Status, v answer.View) bool {
	x := e.x
	switch s {
	case answer.Superseded: // of which at most a few words were read
		return x.posts && !x.seen() || said(v) < little
	case answer.Stopped: // because the question was taken back, or the agent thrown out
		return e.unasked() || e.botRemoved()
	}
	return false
}

// unasked reports whether all messages that the run answers were deleted.
func (e *ending) unasked() bool {
	x := e.x
	var run chat.Run
	err := x.persist(x.life, func() (err error) {
		run, err = x.store.Run(x.life, x.run.ID)
		return err
	})
	return err == nil && len(run.Inputs) == 0
}

// botRemoved reports whether the agent was removed from where this is to be answered.
func (e *ending) botRemoved() (removed bool) {
	x := e.x
	err := x.persist(x.life, func() (err error) {
		removed, err = x.rt.roster.BotRemoved(x.life, x.run)
		return err
	})
	return err == nil && removed
}

// said counts what the model has written, in characters. Statuses of actions don't count.
func said(v answer.View) (n int) {
	for _, s := range v.Segments {
		if s.Call == "" {
			n += utf8.RuneCountInString(s.Text)
		}
	}
	return n
}

// remembered returns the memory of what the run said, or a zero one if nothing is kept.
func (e *ending) remembered(v chat.Verdict) chat.Memory {
	x := e.x
	if v.Text == "" && v.Files == 0 || v.Outcome.Withdrawn {
		return chat.Memory{}
	}
	m := chat.Memory{
		ID: x.run.Said(), Room: x.run.Room, Author: x.rt.cfg.Agent.Entity(), Name: x.rt.cfg.Agent.Name, At: time.Now(),
		Text: v.Text, Thought: v.Thought, Actions: v.Actions, Providers: v.Providers, History: v.History, Calls: v.Calls,
		Failure: v.Outcome.Failure, Interrupted: v.Outcome.Interrupted(),
	}
	if n := len(x.run.Inputs); n > 0 {
		m.InReplyTo = x.run.Inputs[n-1]
	}
	if x.run.Kind.OutOfBand() {
		m.Kind = chat.KindCommand
	}
	if x.run.Kind == chat.RunNotify { // its input is the draft of what it says
		m.InReplyTo = x.run.Address.ReplyTo
	}
	return m
}

// finish ends the run and stores what it said in one transaction, then ends the answer for those who watch it. The question of the run is
// closed before: a finished run can't do it any more.
func (x *execution) finish(v chat.Verdict) error {
	out := x.ending.remembered(v)
	quota.WaitSettled(x.life) // the next run of the room finds what this one left of the limits
	if err := x.asking.withdraw(v.Outcome); err != nil {
		return fmt.Errorf("finish %s: %w", x.run.ID, err)
	}
	err := x.persist(x.life, func() error {
		if err := x.deciding.rememberSilence(v); err != nil {
			return err
		}
		return x.store.Finish(x.life, x.run.ID, x.run.Epoch, v.Outcome, out)
	})
	if err != nil {
		return fmt.Errorf("finish %s: %w", x.run.ID, err)
	}
	if out.ID != "" {
		x.rt.hub.Emit(event.MessageSent{RunInfo: x.info, Message: out})
	}
	x.rt.hub.Emit(ended(x.info, v.Outcome, quota.CostOf(x.life)))
	x.out = out
	x.answer.End(v.Outcome)
	return nil
}
