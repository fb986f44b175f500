package core

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/contain"
)

// resumeChoice carries out what was chosen, or removes the buttons of a question that was closed without a choice. Where the question
// stands in messages of its own, these become the answer of this run: the question, what was chosen, and what came of it.
func (ak *asking) resumeChoice(ctx context.Context) error {
	var q chat.Question
	var asked string
	err := ak.x.persist(ctx, func() (err error) {
		if q, err = ak.store.QuestionOf(ctx, ak.x.run.ID); err == nil {
			asked, err = ak.x.rt.choices.questionText(ctx, q)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the choice: %w", err)
	}
	if q.Chooser == action.Parked && q.By != "" { // wakes the run that waits; one that is just about to wait looks for the choice itself
		if err := ak.x.persist(ctx, func() error { return ak.x.rt.waker.GoOn(ctx, q.Run, q.Room) }); err != nil {
			return err
		}
	}
	goesOn := q.Chooser == action.Awaited || q.Chooser == action.Parked // the run that asked shows the choice itself
	took := len(ak.x.run.Shown) > 0                                     // this run was given the messages of the question
	if goesOn && !took {
		return chat.ErrNothingToSay
	}
	if ak.x.posts && took && asked != "" {
		ak.x.answer.Apply(answer.Change{Kind: answer.Text, Text: asked})
	}
	if q.By == "" || goesOn {
		return ak.x.toolCalls.RequireOutput()
	}
	says, err := ak.chosen(ctx, q)
	if err != nil {
		ak.x.rt.cfg.Log.Error("a choice could not be carried out", "run", ak.x.run.ID, "chooser", q.Chooser, "err", err)
		says = notDone
	}
	ak.x.answer.Apply(answer.Change{Kind: answer.Text, Step: 1, Text: q.ChoiceLine(ak.x.run.RoomKind)})
	if says != "" {
		ak.x.answer.Apply(answer.Change{Kind: answer.Text, Step: 2, Text: says})
	}
	return nil
}

const notDone = "That didn't work. Please try again."

// questionText returns what people read above the options. It is in the verdict of the run that asked, as long as that is kept, and
// then in what the agent said.
func (cs *choices) questionText(ctx context.Context, q chat.Question) (string, error) {
	run, err := cs.store.Run(ctx, q.Run)
	if err != nil || run.Verdict != nil {
		return verdictText(run), err
	}
	m, err := cs.store.Memory(ctx, run.Said())
	return m.Text, chat.Unless(err, chat.ErrNotFound)
}

func verdictText(r chat.Run) string {
	if r.Verdict == nil {
		return ""
	}
	return r.Verdict.Text
}

// chosen calls the handler that the question names. A panic in it is an error of this call alone.
func (ak *asking) chosen(ctx context.Context, q chat.Question) (says string, err error) {
	c := ak.x.rt.choices.handlers[q.Chooser]
	if c == nil {
		return "", fmt.Errorf("there is no choice handler %q", q.Chooser)
	}
	defer contain.Recover(&err, "the choice handler")
	says, err = c.Chosen(ctx, q)
	return text.Visible(says), err
}

// The choosers that there always are.
const (
	// AsMessage has the option answered as if its chooser had written it.
	AsMessage = "message"
	forget    = "forget"
)

// asMessage is [AsMessage].
type asMessage struct{ rt *Runtime }

func (asMessage) Name() string { return AsMessage }

func (a asMessage) Chosen(ctx context.Context, q chat.Question) (string, error) {
	_, err := a.say(ctx, q)
	return "", err
}

// say accepts the option as a message of the chooser: once, however often it is called, because the id of the message is that of the run.
// Rights are checked as for every message.
func (a asMessage) say(ctx context.Context, q chat.Question) (chat.Accepted, error) {
	run, err := a.rt.choices.store.Run(ctx, q.Run)
	if err != nil {
		return chat.Accepted{}, err
	}
	room, err := a.rt.choices.store.Room(ctx, q.Room)
	if err != nil {
		return chat.Accepted{}, err
	}
	m := chat.Memory{
		ID: chat.MemoryID(q.ResultRun + "/message"), Room: q.Room, Author: q.By, Name: q.Name, Text: q.Options[q.Choice],
		InReplyTo: run.Said(), At: time.Now(),
	}
	to := run.Address.For(q.By, cmp.Or(q.BilledTo, q.By))
	said := chat.Message{Memory: m, Place: room, Address: to, Addressed: true}
	in, err := a.rt.intake.admission(ctx, said)
	if err != nil {
		return chat.Accepted{}, err
	}
	return a.rt.intake.ingest(ctx, said, in, false)
}

// waiter stands for the two ways in which a run waits for a choice, in an action or parked. The run itself looks up what was chosen, so
// there is nothing to do.
type waiter struct{ name string }

func (w waiter) Name() string { return w.name }

func (waiter) Chosen(context.Context, chat.Question) (string, error) { return "", nil }

// forgetter clears the room when a person has confirmed /new.
type forgetter struct{ rt *Runtime }

func (forgetter) Name() string { return forget }

func (f forgetter) Chosen(ctx context.Context, q chat.Question) (string, error) {
	if q.Choice != 0 {
		return "Okay, nothing was forgotten.", nil
	}
	if err := f.rt.commands.stop(ctx, q.Room, chat.EveryTurn); err != nil {
		f.rt.cfg.Log.Warn("can't stop the answers in a room that was cleared; they will end on their own", "room", q.Room, "err", err)
	}
	if _, err := f.rt.changes.Clear(ctx, chat.Cleared{Room: q.Room}); err != nil {
		return "", err
	}
	return "Done. I've forgotten this conversation.", nil
}

// askToForget asks for the confirmation of /new, because what is forgotten can't be restored.
func (cr *commandRun) askToForget(ctx context.Context) (string, error) {
	m, err := cr.x.input(ctx)
	if err != nil {
		return "", err
	}
	_, err = cr.x.asking.ask(ctx, chat.Question{Options: []string{"Forget it", "Keep it"}, For: []chat.EntityID{m.Author}, Chooser: forget})
	if cr.x.run.RoomKind == chat.API { // the page shows the stored messages
		return "Forget this conversation? Its messages will be deleted.", err
	}
	return "Forget this conversation? Messages in the chat won't be deleted.", err
}
