package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/relay"
	"parley/core/schedule"
	"parley/core/text"
	"parley/internal/lang"
)

// ChangeStore contains the store methods of [Changes].
type ChangeStore interface {
	Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error)
	Clear(ctx context.Context, room chat.RoomID) (deleted int, err error)
	ClearEntirely(ctx context.Context, room chat.RoomID, person chat.EntityID) (deleted int, err error)
	Forget(ctx context.Context, id chat.MemoryID) error
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	Reopen(ctx context.Context, id chat.RunID) error
	Revise(ctx context.Context, id chat.MemoryID, text string, files []chat.Attachment) error
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	Run(ctx context.Context, id chat.RunID) (chat.Run, error)
	RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
	RunShowing(ctx context.Context, room chat.RoomID, topics bool, message string, turns int) (chat.Run, error)
	// SaveNote stores n in place of the note with the same room, kind and key. A note without text only deletes that one.
	SaveNote(ctx context.Context, n chat.RoomNote) error
}

// Changes processes edits, deletions, reactions and the clearing of rooms. It keeps the store and the answers in
// progress consistent with the conversation on the platform. Its fields are set before use. It is safe for concurrent
// use.
type Changes struct {
	Store     ChangeStore
	Agent     chat.EntityID
	OnEdit    schedule.EditPolicy
	Admission *Admission
	Claims    *schedule.Claims
	Parked    *schedule.ParkedRuns
	Live      *relay.Registry
	Lanes     *schedule.Lanes
	Emit      func(e event.Event)
	Log       *slog.Logger
}

// maxEditAge is the maximum age of a question whose edit is answered.
const maxEditAge = 15 * time.Minute

// becomesQuestion reports whether an edit made m a question: it now addresses the agent, and no run has answered it or will. It
// returns m with its data from before the edit. Commands are no questions, because an edit makes no command. Messages
// of bots are none either, because bots edit their messages all the time. A message that is unknown was not received
// before, or is deleted: [chat.JoinRule.Again] decides. It fails with the error of the store.
func (c *Changes) becomesQuestion(ctx context.Context, m chat.Message) (chat.Message, bool, error) {
	if !m.Addressed || m.Bot || m.Author == c.Agent || time.Since(m.At) > maxEditAge || m.Empty() || chat.IsCommand(m.Text) {
		return m, false, nil
	}
	old, err := c.Store.Memory(ctx, m.ID)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return m, false, fmt.Errorf("edit %s: %w", m.ID, err)
	}
	if err != nil {
		return m, true, nil
	}
	run, err := c.Store.RunOf(ctx, m.ID)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return m, false, fmt.Errorf("edit %s: %w", m.ID, err)
	}
	if run.ID != "" || old.Author != m.Author || old.Room != m.Room || old.Kind != chat.Said && old.Kind != chat.Overheard {
		return m, false, nil
	}
	m.Quoted, m.InReplyTo = old.Quoted, old.InReplyTo // an edit does not change which message m replies to
	m.Files = attachment.KeepRead(attachment.Edited(m.Files, old.Files), old.Files)
	m.Text = chat.WithTranscripts(m.Text, m.Files)
	return m, true, nil
}

// edited revises a memory; the same text again, as when a platform unfurls a link, changes nothing. A run that was not
// started will read the new text anyway. A later one is answered again if it may be. It fails with the error of the
// store.
func (c *Changes) edited(ctx context.Context, e chat.Edited) (acc chat.Accepted, err error) {
	acc.Memory = e.ID
	if err := attachment.Check(e.Memory); err != nil {
		return acc, err
	}
	e.Text, e.Files = text.Visible(e.Text), attachment.Clean(e.Files)
	old, err := c.findMemory(ctx, e.ID)
	switch {
	case err != nil:
		return acc, fmt.Errorf("edit %s: %w", e.ID, err)
	case old.ID == "" || old.Author != e.Author || e.Author == c.Agent:
		return acc, nil
	case old.Kind != chat.Said && old.Kind != chat.Overheard || chat.IsCommand(e.Text): // an edit makes no command, and unmakes none
		return acc, nil
	}
	e.Files = attachment.KeepRead(attachment.Edited(e.Files, old.Files), old.Files)
	e.Text = chat.WithTranscripts(e.Text, e.Files)
	if e.Text == old.Text && attachment.Same(e.Files, old.Files) && !e.Again || e.Empty() {
		return acc, nil
	}
	run, reopened, err := c.rewrite(ctx, e.Memory, func() (chat.Run, error) { return c.startedRun(ctx, e) })
	switch {
	case err != nil:
		return acc, fmt.Errorf("edit %s: %w", e.ID, err)
	case !e.Again:
	case reopened:
		acc.Run, acc.Response = run.ID, run.Response
	case run.Acting+run.Acted != "":
		acc.Refused = lang.Say(ctx, "message.acted")
	}
	return acc, nil
}

// rewrite stores the text and files of m, and reopens the run that find returns. It reports whether it has reopened it,
// and the run before that. It reopens first: with the new text stored and the run not reopened, a repetition after an
// error would find nothing to do. It fails with the error of the store.
func (c *Changes) rewrite(ctx context.Context, m chat.Memory, find func() (chat.Run, error)) (run chat.Run, reopened bool, err error) {
	run, err = find()
	if err != nil {
		return run, false, err
	}
	epoch, err := c.reopen(ctx, run)
	if err != nil {
		return run, false, err
	}
	reopened = epoch > run.Epoch
	defer func() {
		if reopened {
			c.restart(run)
		}
	}()
	if err := c.Store.Revise(ctx, m.ID, m.Text, m.Files); err != nil {
		return run, reopened, chat.Unless(err, chat.ErrNotFound)
	}
	now, err := find()
	if err == nil && now.Epoch > epoch { // it was started meanwhile, and may have read the old text
		run = now
		epoch, err = c.reopen(ctx, run)
		reopened = epoch > run.Epoch
	}
	if err != nil {
		c.Log.Warn("a changed message may be answered or shown as it was before", "message", m.ID, "err", err)
	}
	return run, reopened, nil
}

// startedRun returns the started run that has to be answered again after e, or none. It fails with the error of the store.
func (c *Changes) startedRun(ctx context.Context, e chat.Edited) (chat.Run, error) {
	if c.OnEdit == schedule.RememberEdit && !e.Again {
		return chat.Run{}, nil
	}
	run, err := c.Store.RunOf(ctx, e.ID)
	if err != nil || run.Epoch == 0 || time.Since(run.Opened) > maxEditAge && !e.Again {
		return chat.Run{}, chat.Unless(err, chat.ErrNotFound)
	}
	if stays, err := c.Admission.stillAnswered(ctx, run, e.Author); err != nil || !stays {
		return chat.Run{}, err
	}
	return run, nil
}

// reopen reopens run, unless it must stay unchanged, and returns its new epoch. It fails with the error of the store.
func (c *Changes) reopen(ctx context.Context, run chat.Run) (chat.Epoch, error) {
	if run.ID == "" {
		return run.Epoch, nil
	}
	err := c.Store.Reopen(ctx, run.ID)
	if errors.Is(err, answer.ErrLost) {
		return run.Epoch, nil
	} else if err != nil {
		return run.Epoch, fmt.Errorf("answer %s again: %w", run.ID, err)
	}
	return run.Epoch + 1, nil
}

// restart interrupts the work on a run that was reopened, and starts it again.
func (c *Changes) restart(run chat.Run) {
	c.Live.Lose(run.ID)
	c.Lanes.WakeRoom(run.Room)
}

// deleted deletes a message. A run that answers no other message ends, and deletes its posted messages: at once if it
// was started, and otherwise when its turn comes. It fails only before the message is deleted, because a repetition
// finds no message.
func (c *Changes) deleted(ctx context.Context, d chat.Deleted) error {
	old, err := c.findMemory(ctx, d.ID)
	if err != nil || old.ID == "" {
		return err
	}
	asked, err := c.Store.RunOf(ctx, d.ID)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return fmt.Errorf("delete %s: %w", d.ID, err)
	}
	if err := c.Store.Forget(ctx, d.ID); err != nil {
		return fmt.Errorf("delete %s: %w", d.ID, err)
	}
	c.Emit(event.MessageDeleted{Message: old})
	if asked.ID == "" {
		return nil
	}
	defer c.Lanes.WakeRoom(old.Room)
	run, err := c.Store.Run(ctx, asked.ID) // read again: a run that starts from now on finds no message
	if err != nil {                        // the message is deleted, and a repetition would do nothing
		c.Log.Warn("can't read again what a deleted message was answered with", "run", asked.ID, "err", err)
		run = asked
		run.Inputs = slices.DeleteFunc(run.Inputs, func(id chat.MemoryID) bool { return id == d.ID })
	}
	if run.Outcome.Done() || run.Epoch == 0 || len(run.Inputs) > 0 {
		return nil
	}
	err = c.Parked.End(ctx, run.ID, run.Room, answer.Stopped)
	if !run.Parked {
		err = errors.Join(err, c.Claims.Stop(ctx, run.Claim(), run.Turn()))
	}
	if err != nil { // a repetition finds no memory
		c.Log.Warn("can't stop the answer to a deleted message; it will end on its own", "run", run.ID, "err", err)
	}
	return nil
}

// react stores r as a remark of its author. The same event again is a duplicate, and so is another event that changes
// nothing. A reaction that was removed and is added again is none. It fails with the error of the store.
func (c *Changes) react(ctx context.Context, r chat.Reaction) (chat.Accepted, error) {
	id := chat.MemoryID(reactionID(r) + "/" + cmp.Or(r.Event, strconv.FormatInt(r.At.UnixNano(), 36)))
	if r.Author == c.Agent {
		return chat.Accepted{Memory: id}, nil
	}
	on, err := c.Store.Memory(ctx, r.On)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return chat.Accepted{}, fmt.Errorf("react to %s: %w", r.On, err)
	}
	if on.ID == "" {
		if on, err = c.answerShownAs(ctx, r); err != nil {
			return chat.Accepted{}, fmt.Errorf("react to %s: %w", r.On, err)
		}
	}
	if on.ID != "" {
		r.Room = on.Room // some platforms name only the chat
	}
	room, err := c.Store.Room(ctx, r.Room)
	unclear := r.AnyTopic && on.ID == "" && room.Kind == chat.Forum // it can be a message of any topic
	if errors.Is(err, chat.ErrNotFound) || unclear {                // the room has no messages
		return chat.Accepted{Memory: id}, nil
	} else if err != nil {
		return chat.Accepted{}, fmt.Errorf("react to %s: %w", r.On, err)
	}
	m := chat.Memory{
		ID: id, Room: r.Room, Author: r.Author, Name: text.Visible(r.Name), Text: text.Visible(r.Line(on, on.Author == c.Agent)), InReplyTo: cmp.Or(on.ID, r.On), At: r.At,
	}
	if known, err := c.Admission.hasAccess(ctx, room, r.Author); err != nil {
		return chat.Accepted{}, fmt.Errorf("check access of the author of a reaction to %s: %w", r.On, err)
	} else if !known && !room.Kind.Private() {
		m.Kind = chat.Overheard
	}
	if last, added, err := c.lastReaction(ctx, r, m.Kind); err != nil {
		return chat.Accepted{}, fmt.Errorf("react to %s: %w", r.On, err)
	} else if last != "" && last != id && added == r.Added {
		return chat.Accepted{Memory: last, Duplicate: true}, nil
	}
	if on.Author == c.Agent && m.Kind != chat.Overheard {
		if err := c.rate(ctx, r, on); err != nil {
			return chat.Accepted{}, fmt.Errorf("rate %s: %w", on.ID, err)
		}
	}
	acc, err := c.Store.Accept(ctx, chat.Message{Memory: m, Place: room}, chat.JoinRule{NoRun: true})
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("react to %s: %w", r.On, err)
	}
	if !acc.Duplicate {
		c.Emit(event.ReactionReceived{Reaction: r, Accepted: acc})
	}
	return acc, nil
}

// rate stores r as a rating of the answer on, as one in the web chat, if it is a thumb. It fails with the error of the store.
func (c *Changes) rate(ctx context.Context, r chat.Reaction, on chat.Memory) error {
	rating := ""
	switch {
	case strings.HasPrefix(r.Emoji, "👍"): // in any color
		rating = "up"
	case strings.HasPrefix(r.Emoji, "👎"):
		rating = "down"
	default:
		return nil
	}
	n := chat.RoomNote{Room: on.Room, Kind: chat.FeedbackNote, Key: string(on.ID) + " " + string(r.Author) + " " + rating, About: r.Author, First: on.ID, Last: on.ID, At: r.At}
	if r.Added {
		n.Text = `{"rating":"` + rating + `"}`
	}
	return chat.Unless(c.Store.SaveNote(ctx, n), chat.ErrNotFound) // it was deleted meanwhile
}

// lastReaction returns the latest of the last reactions with the author, the emoji and the message of r, and whether it
// was added; "" if there is none in sight. It fails with the error of the store.
func (c *Changes) lastReaction(ctx context.Context, r chat.Reaction, kind chat.MemoryKind) (id chat.MemoryID, added bool, err error) {
	recent, err := c.Store.Recent(ctx, r.Room, kind, 0, searchDepth)
	for _, m := range slices.Backward(recent) {
		for _, added := range []bool{true, false} {
			like := r
			like.Added = added
			if strings.HasPrefix(string(m.ID), reactionID(like)+"/") {
				return m.ID, added, err
			}
		}
	}
	return "", false, err
}

// reactionID begins the ids of all memories of a reaction.
func reactionID(r chat.Reaction) string {
	return fmt.Sprintf("%s/%s/%s/%s", r.On, r.Verb(), r.Author, r.Emoji)
}

// searchDepth is the number of a room's last messages that are searched for a reaction, and of its last turns that are
// searched for an answer with a message of the platform.
const searchDepth = 50

// answerShownAs returns the answer of the agent that r reacts to; a zero one if it is none of the last ones. Answers
// are not stored under the ids of the platform's messages, since each can have several. It fails with the error of the
// store.
func (c *Changes) answerShownAs(ctx context.Context, r chat.Reaction) (chat.Memory, error) {
	if r.Message == "" {
		return chat.Memory{}, nil
	}
	run, err := c.Store.RunShowing(ctx, r.Room, r.AnyTopic, r.Message, searchDepth)
	if err != nil {
		return chat.Memory{}, chat.Unless(err, chat.ErrNotFound)
	}
	m, err := c.Store.Memory(ctx, run.Said())
	return m, chat.Unless(err, chat.ErrNotFound)
}

// cleared clears a room and ends its runs that wait for a person. It fails with the error of the store.
func (c *Changes) cleared(ctx context.Context, what chat.Cleared) (chat.Accepted, error) {
	if err := c.Parked.StopAll(ctx, what.Room, chat.EveryTurn); err != nil {
		return chat.Accepted{}, fmt.Errorf("clear %s: %w", what.Room, err)
	}
	return c.clear(ctx, what)
}

// clear clears a room like [Changes.cleared], without ending the runs that wait for a person: the caller is itself such
// a run, or has ended them. It fails with the error of the store.
func (c *Changes) clear(ctx context.Context, what chat.Cleared) (chat.Accepted, error) {
	var n int
	var err error
	if what.Entirely {
		n, err = c.Store.ClearEntirely(ctx, what.Room, what.Person)
	} else {
		n, err = c.Store.Clear(ctx, what.Room)
	}
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("clear %s: %w", what.Room, err)
	}
	c.Log.Info("a room was cleared", "room", what.Room, "deleted", n)
	c.Emit(event.ChannelCleared{Room: what.Room, Deleted: n, Total: n})
	return chat.Accepted{Deleted: n}, nil
}

// findMemory returns a memory, or a zero one. It fails with the error of the store.
func (c *Changes) findMemory(ctx context.Context, id chat.MemoryID) (chat.Memory, error) {
	m, err := c.Store.Memory(ctx, id)
	return m, chat.Unless(err, chat.ErrNotFound)
}

// Amend changes the text of the notice with key in room to the result of add, unless there is no such notice or add
// returns false. The message is edited if no later turn of the room has followed it; otherwise below reports that the
// new text must be posted below. It fails with the error of the store.
func (c *Changes) Amend(ctx context.Context, room chat.RoomID, key string, add func(was string) (string, bool)) (below bool, err error) {
	return c.AmendMessage(ctx, chat.NoticeID(room, key), add)
}

// AmendMessage is [Changes.Amend] for the draft of any message that the agent has sent on its own initiative.
func (c *Changes) AmendMessage(ctx context.Context, id chat.MemoryID, add func(was string) (string, bool)) (below bool, err error) {
	was, err := c.Store.Memory(ctx, id)
	if err != nil {
		return false, chat.Unless(err, chat.ErrNotFound)
	}
	now, ok := add(was.Text)
	if !ok {
		return false, nil
	}
	was.Text = now
	run, reopened, err := c.rewrite(ctx, was, func() (chat.Run, error) { return c.Store.RunOf(ctx, id) })
	if err != nil {
		return false, fmt.Errorf("amend the notice %s: %w", id, err)
	}
	return !reopened && run.Epoch > 0, nil // one that was not started has the new text anyway
}
