package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/schedule"
	"parley/core/text"
)

// changes takes what changes messages: edits, deletions, reactions.
type changes struct {
	rt    *Runtime
	store changeStore
}

// freshFor is how old a question can be whose edit is answered.
const freshFor = 15 * time.Minute

// edited revises a memory; the same text again, as when a platform unfurls a link, is nothing. A run that was not
// started will read the new text anyway. A later one is answered again if it may be (IN-12).
func (c *changes) edited(ctx context.Context, e chat.Edited) error {
	if err := attachment.Check(e.Memory); err != nil {
		return err
	}
	e.Text, e.Files = text.Visible(e.Text), attachment.Clean(e.Files)
	old, err := c.known(ctx, e.Room, e.ID)
	switch {
	case err != nil:
		return fmt.Errorf("edit %s: %w", e.ID, err)
	case old.ID == "" || old.Author != e.Author || e.Author == c.rt.cfg.Agent.Entity():
		return nil
	case old.Kind != chat.Said || isCommand(e.Text): // an edit makes no command, and unmakes none
		return nil
	}
	e.Files = attachment.KeepRead(e.Files, old.Files)
	e.Text = chat.WithTranscripts(e.Text, e.Files)
	if e.Text == old.Text && attachment.Same(e.Files, old.Files) || e.Empty() {
		return nil
	}
	if err := c.revise(ctx, e); err != nil {
		return fmt.Errorf("edit %s: %w", e.ID, err)
	}
	return nil
}

// revise stores the new text, and has the run that answers it answered again. The run is reopened first: with the new text
// stored and the run not reopened, the edit would be nothing new when it comes again after an error.
func (c *changes) revise(ctx context.Context, e chat.Edited) error {
	run, err := c.answers(ctx, e)
	if err != nil {
		return err
	}
	epoch, err := c.reopen(ctx, run)
	if err != nil {
		return err
	}
	again := epoch > run.Epoch
	defer func() {
		if again {
			c.restart(run)
		}
	}()
	if err := c.store.Revise(ctx, e.ID, e.Text, e.Files); err != nil {
		return chat.Unless(err, chat.ErrNotFound)
	}
	now, err := c.answers(ctx, e)
	if err == nil && now.Epoch > epoch { // it was started meanwhile, and may have read the old text
		run = now
		epoch, err = c.reopen(ctx, run)
		again = epoch > run.Epoch
	}
	if err != nil {
		c.rt.cfg.Log.Warn("an edited message may be answered as it was before", "message", e.ID, "err", err)
	}
	return nil
}

// answers returns the started run that is to be answered again after e, or none.
func (c *changes) answers(ctx context.Context, e chat.Edited) (chat.Run, error) {
	if c.rt.cfg.Turns.OnEdit == schedule.RememberEdit {
		return chat.Run{}, nil
	}
	run, err := c.store.RunOf(ctx, e.ID)
	if err != nil || run.Epoch == 0 || time.Since(run.Opened) > freshFor {
		return chat.Run{}, chat.Unless(err, chat.ErrNotFound)
	}
	if stays, err := c.rt.intake.stays(ctx, run, e.Author); err != nil || !stays {
		return chat.Run{}, err
	}
	return run, nil
}

// reopen has run answered once more, unless it must stay as it is, and returns the epoch that it then has.
func (c *changes) reopen(ctx context.Context, run chat.Run) (chat.Epoch, error) {
	if run.ID == "" {
		return run.Epoch, nil
	}
	err := c.store.Reopen(ctx, run.ID)
	if errors.Is(err, answer.ErrLost) {
		return run.Epoch, nil
	} else if err != nil {
		return run.Epoch, fmt.Errorf("answer %s again: %w", run.ID, err)
	}
	return run.Epoch + 1, nil
}

// restart ends what is being made of a run that was reopened, and starts again.
func (c *changes) restart(run chat.Run) {
	c.rt.live.Lose(run.ID)
	c.rt.scheduler.wake(run.Room)
}

// deleted forgets a message. A run that answers nothing else ends, and takes back what it showed: at once if it was
// started, and otherwise when its turn comes.
func (c *changes) deleted(ctx context.Context, d chat.Deleted) error {
	old, err := c.known(ctx, d.Room, d.ID)
	if err != nil || old.ID == "" {
		return err
	}
	asked, err := c.store.RunOf(ctx, d.ID)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return fmt.Errorf("delete %s: %w", d.ID, err)
	}
	if err := c.store.Forget(ctx, d.ID); err != nil {
		return fmt.Errorf("delete %s: %w", d.ID, err)
	}
	c.rt.hub.Emit(event.MessageDeleted{Message: old})
	if asked.ID == "" {
		return nil
	}
	defer c.rt.scheduler.wake(d.Room)
	run, err := c.store.Run(ctx, asked.ID) // once more: what starts from now on sees that the message is gone
	if err != nil {                        // the message is gone, and nothing comes of it when it is deleted again
		c.rt.cfg.Log.Warn("can't read again what a deleted message was answered with", "run", asked.ID, "err", err)
		run = asked
		run.Inputs = slices.DeleteFunc(run.Inputs, func(id chat.MemoryID) bool { return id == d.ID })
	}
	if run.Outcome.Done() || run.Epoch == 0 || len(run.Inputs) > 0 {
		return nil
	}
	if parked, err := c.rt.waker.End(ctx, run.ID, run.Room, answer.Stopped); parked || err != nil {
		return err
	}
	if err := c.rt.cfg.Tracker.Stop(ctx, c.rt.cfg.Agent.ID, run.Claim(), run.Turn()); err != nil {
		c.rt.cfg.Log.Warn("can't stop the answer to a deleted message; it will end on its own", "run", run.ID, "err", err)
	}
	return nil
}

// reaction remembers r as a remark of its author. The same one again is a duplicate, also if it was taken away meanwhile.
func (c *changes) reaction(ctx context.Context, r chat.Reaction) (chat.Accepted, error) {
	id := chat.MemoryID(fmt.Sprintf("%s/%s/%s/%s", r.On, r.Verb(), r.Author, r.Emoji))
	if r.Author == c.rt.cfg.Agent.Entity() {
		return chat.Accepted{Memory: id}, nil
	}
	on, err := c.store.Memory(ctx, r.On)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return chat.Accepted{}, fmt.Errorf("react to %s: %w", r.On, err)
	}
	if on.ID != "" {
		r.Room = on.Room // platforms may tell of the chat alone
	}
	room, err := c.store.Room(ctx, r.Room)
	if errors.Is(err, chat.ErrNotFound) { // nothing was ever said there
		return chat.Accepted{Memory: id}, nil
	} else if err != nil {
		return chat.Accepted{}, fmt.Errorf("react to %s: %w", r.On, err)
	}
	m := chat.Memory{
		ID: id, Room: r.Room, Author: r.Author, Name: text.Visible(r.Name), Text: text.Visible(r.Line(on)), InReplyTo: r.On, At: r.At,
	}
	acc, err := c.store.Accept(ctx, chat.Message{Memory: m, Place: room}, chat.JoinRule{NoRun: true})
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("react to %s: %w", r.On, err)
	}
	if !acc.Duplicate {
		c.rt.hub.Emit(event.ReactionReceived{Reaction: r, Accepted: acc})
	}
	return acc, nil
}

// cleared forgets a room. Runs that wait for a person end.
func (c *changes) cleared(ctx context.Context, what chat.Cleared) (chat.Accepted, error) {
	if err := c.rt.waker.StopAll(ctx, what.Room, everyTurn); err != nil {
		return chat.Accepted{}, fmt.Errorf("clear %s: %w", what.Room, err)
	}
	return c.clear(ctx, what)
}

func (c *changes) clear(ctx context.Context, what chat.Cleared) (chat.Accepted, error) {
	var n int
	var err error
	if what.Entirely {
		n, err = c.store.ClearEntirely(ctx, what.Room, what.Person)
	} else {
		n, err = c.store.Clear(ctx, what.Room)
	}
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("clear %s: %w", what.Room, err)
	}
	c.rt.cfg.Log.Info("a room was cleared", "room", what.Room, "deleted", n)
	c.rt.hub.Emit(event.ChannelCleared{Room: what.Room, Deleted: n, Total: n})
	return chat.Accepted{Deleted: n}, nil
}

// known is a memory of room, or a zero one.
func (c *changes) known(ctx context.Context, room chat.RoomID, id chat.MemoryID) (chat.Memory, error) {
	m, err := c.store.Memory(ctx, id)
	if err != nil || m.Room != room {
		return chat.Memory{}, chat.Unless(err, chat.ErrNotFound)
	}
	return m, nil
}
