package intake

import (
	"cmp"
	"context"
	"fmt"

	"parley/core/access"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/text"
)

// KnownStore finds the result of the first delivery of a message. The contract is that of package storage.
type KnownStore interface {
	Known(ctx context.Context, in chat.Memory) (chat.Accepted, error)
}

// Store contains the store methods of [Intake].
type Store interface {
	KnownStore
	access.LinkReader
	access.EntityStore
}

// Intake accepts events by their kinds. Its fields are set before use. It is safe for concurrent use.
type Intake struct {
	Store     Store
	Admission *Admission
	Messages  *Messages
	Commands  *Commands
	Choices   *Choices
	Changes   *Changes
	Roster    *Roster
	Tasks     *Tasks
}

// Process stores in. It has the results and errors of [parley/core.Runtime.ProcessMessage], also for repetitions.
func (t *Intake) Process(ctx context.Context, in chat.Inbound) (chat.Accepted, error) {
	author, roles := sender(in)
	if blocked, err := t.Admission.Pairing.Blocked(ctx, author, roles); err != nil || blocked {
		return chat.Accepted{Blocked: blocked}, err
	}
	ctx = access.Speak(ctx, t.Store, author, t.Roster.Log)
	switch in := text.CleanAll(in).(type) {
	case chat.Message:
		return t.accept(ctx, in)
	case chat.Choice:
		if in.Question == chat.AccessButton {
			said, err := t.Admission.Pairing.RequestAccess(ctx, chat.Person{ID: in.Author, Name: in.Name})
			return chat.Accepted{Refused: said}, err
		}
		if name, turn, ok := chat.ButtonOf(in.Question); ok {
			return t.Commands.pressed(ctx, in, name, turn, t.clean)
		}
		return t.Choices.pressed(ctx, in)
	case chat.Command:
		return chat.Accepted{}, t.Commands.command(ctx, in)
	case chat.Edited:
		talks, err := t.Admission.Handovers.Edited(ctx, in.Memory)
		if err != nil {
			return chat.Accepted{}, err
		}
		acc, err := t.edited(ctx, in)
		acc.Relayed = talks
		return acc, err
	case chat.Deleted:
		_, err := t.Admission.Handovers.Edited(ctx, chat.Memory{ID: in.ID, Room: in.Room})
		return chat.Accepted{Memory: in.ID}, cmp.Or(err, t.Changes.deleted(ctx, in))
	case chat.Reaction:
		return t.Changes.react(ctx, in)
	case chat.Cleared:
		if err := t.Admission.Handovers.Cleared(ctx, in.Room); err != nil {
			return chat.Accepted{}, err
		}
		return t.Changes.cleared(ctx, in)
	case chat.Joined:
		return chat.Accepted{}, t.Roster.joined(ctx, in)
	case chat.Left:
		return chat.Accepted{}, t.Roster.left(ctx, in)
	case chat.Completion:
		return t.Commands.complete(ctx, in)
	case chat.Task:
		return t.Tasks.accept(ctx, in)
	default:
		return chat.Accepted{}, fmt.Errorf("unknown inbound %T", in)
	}
}

// sender returns the author of an event and their roles, as far as the platform has sent them.
func sender(in chat.Inbound) (author chat.EntityID, roles []string) {
	switch in := in.(type) {
	case chat.Message:
		return in.Author, in.Roles
	case chat.Choice:
		return in.Author, in.Roles
	case chat.Command:
		return in.Author, in.Roles
	case chat.Completion:
		return in.Author, in.Roles
	case chat.Edited:
		return in.Author, in.Roles
	case chat.Reaction:
		return in.Author, nil
	case chat.Joined:
		return in.Entity.ID, nil
	}
	return "", nil
}

// Known reports whether the message id was accepted before. It costs one read, and fails with the error of the store.
func (t *Intake) Known(ctx context.Context, id chat.MemoryID) (bool, error) {
	_, known, err := firstDelivery(ctx, t.Store, chat.Memory{ID: id})
	return known, err
}

// accept stores a message and opens its run, in one transaction. A message that arrived before only attaches to its own
// run. For most messages, the transaction detects that. A possible command or answer to a question is looked up before:
// it would otherwise count a second time, or for a later question. So are messages of bots, which are counted. It fails
// with the error of the store.
func (t *Intake) accept(ctx context.Context, m chat.Message) (chat.Accepted, error) {
	m, err := t.clean(ctx, m)
	if err != nil {
		return chat.Accepted{}, err
	}
	if m.Author == t.Admission.Agent.Entity() || m.Empty() {
		return chat.Accepted{Memory: m.ID}, nil // the agent's own messages are stored with their run; empty ones have no content
	}
	a, err := t.Admission.admit(ctx, m)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	name := commandIn(m, a)
	asked, err := t.Choices.openFor(ctx, m)
	if err != nil {
		return chat.Accepted{}, err
	}
	talks, err := t.Admission.Handovers.Talks(ctx, m.Room)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	if name != "" || len(asked) > 0 || m.Bot || talks || m.Group != "" {
		if acc, known, err := firstDelivery(ctx, t.Store, m.Memory); known || err != nil {
			acc.Relayed = talks && acc.Run == ""
			return acc, err
		}
	}
	if name != "" {
		t.Roster.saveAuthor(ctx, m) // its reply is in their language
		return t.Commands.accept(ctx, m, name)
	}
	if acc, ok, err := t.Choices.leftover(ctx, m, asked); ok || err != nil {
		return acc, err
	}
	if acc, ok, err := t.Choices.typed(ctx, m, asked, talks); ok || err != nil {
		return acc, err
	}
	if acc, ok, err := t.Choices.early(ctx, m, asked, talks); ok || err != nil {
		return acc, err
	}
	silent, err := t.Admission.Handovers.Relay(ctx, m)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	if silent {
		a.answered, a.relayed = false, true
	}
	return t.Messages.add(ctx, m, a, false)
}

// clean checks and cleans m, and sets rights and the payer, which are stored with the run: they follow from the
// account, which the platform guarantees. It fails if m is invalid, and with the error of the store.
func (t *Intake) clean(ctx context.Context, m chat.Message) (chat.Message, error) {
	m, err := attachment.CleanMessage(m)
	if err == nil {
		m.Address.BilledTo, err = access.PersonOf(ctx, t.Store, cmp.Or(m.Address.BilledTo, m.Author))
	}
	m.Address.AuthorizedByRole, m.Address.StaffByRole = "", t.Admission.Policy.IsStaffRole(m.Place, m.Roles)
	if t.Admission.Policy.HasRole(m.Place, m.Roles) {
		m.Address.AuthorizedByRole = m.Author
	}
	if err == nil {
		err = t.Admission.Pairing.NoteRole(ctx, m.Author, m.Place.World, m.Address.StaffByRole)
	}
	if q := m.Quoted; err == nil && q.What != "" && q.Text == "" && m.InReplyTo != "" { // the platform names it, without its text
		var on chat.Memory
		on, err = t.Changes.findMemory(ctx, m.InReplyTo)
		m.Quoted.Text = text.OneLine(on.Text, chat.MaxQuoted)
	}
	return m, err
}

// edited processes a message after an edit. If the edit addresses the message to the agent, it is a new question,
// unless it arrives again; all others change the stored message. It fails with the error of the store.
func (t *Intake) edited(ctx context.Context, e chat.Edited) (acc chat.Accepted, err error) {
	var a admission
	m, asks, err := t.Changes.becomesQuestion(ctx, e.Message)
	if asks {
		m, err = t.clean(ctx, m)
	}
	if asks && err == nil {
		a, err = t.Admission.admit(ctx, m)
	}
	if asks && err == nil {
		acc, err = t.Messages.add(ctx, m, a, true)
	}
	if err != nil || acc.Run != "" && !acc.Duplicate {
		return acc, err
	}
	return t.Changes.edited(ctx, e)
}

// firstDelivery returns the result of the first delivery of m, if it arrived before. It fails with the error of the store.
func firstDelivery(ctx context.Context, store KnownStore, m chat.Memory) (acc chat.Accepted, known bool, err error) {
	acc, err = store.Known(ctx, m)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return chat.Accepted{}, false, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	return acc, err == nil, nil
}
