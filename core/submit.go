package core

import (
	"context"
	"fmt"
	"time"

	"parley/core/access"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/schedule"
	"parley/core/text"
)

// intake accepts messages.
type intake struct {
	rt    *Runtime
	store intakeStore
}

// ProcessMessage is the entry point of the core: connectors call it with everything that happens on their platform. It returns when in
// is safe, which means stored, once, with a turn number; only then may the connector acknowledge it. The answer, if there is to be
// one, follows. An error means that in is not safe and must be delivered again; after Run was told to end it is [chat.ErrShutdown].
// The same event may be delivered any number of times, also at the same time and to other replicas. Its strings may have any bytes: what
// can't be stored is left out of all of them here, since it would otherwise be delivered again and again.
func (rt *Runtime) ProcessMessage(ctx context.Context, in chat.Inbound) (chat.Accepted, error) {
	if rt.ending() {
		return chat.Accepted{}, chat.ErrShutdown
	}
	switch in := text.CleanAll(in).(type) {
	case chat.Message:
		return rt.intake.accept(ctx, in)
	case chat.Choice:
		return rt.choices.pressed(ctx, in)
	case chat.Command:
		return chat.Accepted{}, rt.commands.command(ctx, in)
	case chat.Edited:
		return rt.intake.edited(ctx, in)
	case chat.Deleted:
		return chat.Accepted{Memory: in.ID}, rt.changes.Deleted(ctx, in)
	case chat.Reaction:
		return rt.changes.React(ctx, in)
	case chat.Cleared:
		return rt.changes.Cleared(ctx, in)
	case chat.Joined:
		return chat.Accepted{}, rt.roster.Joined(ctx, in)
	case chat.Left:
		return chat.Accepted{}, rt.roster.Left(ctx, in)
	case chat.Task:
		return rt.tasks.Accept(ctx, in)
	default:
		return chat.Accepted{}, fmt.Errorf("unknown inbound %T", in)
	}
}

// accept stores a message and opens its run, in one transaction. A message that arrived before only attaches to its own run. Most find
// that out in the transaction. What could be a command, or the answer to a question, finds out before: it would otherwise count a second time, or
// for a question that was asked since. So do messages of bots, which are counted.
func (t *intake) accept(ctx context.Context, m chat.Message) (chat.Accepted, error) {
	m, err := t.clean(m)
	if err != nil {
		return chat.Accepted{}, err
	}
	if m.Author == t.rt.cfg.Agent.Entity() || m.Empty() {
		return chat.Accepted{Memory: m.ID}, nil // our own words are stored with their run; empty ones say nothing
	}
	a, err := t.admission(ctx, m)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	name := commanded(m, a)
	asked, err := t.rt.choices.openFor(ctx, m)
	if err != nil {
		return chat.Accepted{}, err
	}
	if name != "" || len(asked) > 0 || m.Bot {
		if acc, known, err := t.arrived(ctx, m.Memory); known || err != nil {
			return acc, err
		}
	}
	if name != "" {
		return t.rt.commands.acceptCommand(ctx, m, name)
	}
	if acc, ok, err := t.rt.choices.typed(ctx, m, asked); ok || err != nil {
		return acc, err
	}
	return t.ingest(ctx, m, a, false)
}

// clean checks and cleans m, and settles rights and costs, which are stored with the run: they follow from the account that the platform
// vouches for.
func (t *intake) clean(m chat.Message) (chat.Message, error) {
	m, err := attachment.CleanMessage(m)
	if m.Address.BilledTo == "" {
		m.Address.BilledTo = m.Author
	}
	m.Address.AuthorizedByRole = ""
	if t.rt.cfg.Access.HasRole(m.Place, m.Roles) {
		m.Address.AuthorizedByRole = m.Author
	}
	return m, err
}

// arrived returns what m was accepted as, if it arrived before.
func (t *intake) arrived(ctx context.Context, m chat.Memory) (acc chat.Accepted, known bool, err error) {
	acc, err = t.store.Known(ctx, m)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return chat.Accepted{}, false, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	return acc, err == nil, nil
}

// Known reports whether the message id was accepted before. It costs one read. Connectors that catch up after a pause ask it before they
// fetch what belongs to a message.
func (rt *Runtime) Known(ctx context.Context, id chat.MemoryID) (bool, error) {
	_, known, err := rt.intake.arrived(ctx, chat.Memory{ID: id})
	return known, err
}

// edited takes a message after an edit. One that the edit addresses to the agent is a new question, unless it arrives again; all others
// change the stored message.
func (t *intake) edited(ctx context.Context, e chat.Edited) (acc chat.Accepted, err error) {
	var a admission
	m, asks, err := t.rt.changes.Asks(ctx, e.Message)
	if asks {
		m, err = t.clean(m)
	}
	if asks && err == nil {
		a, err = t.admission(ctx, m)
	}
	if asks && err == nil {
		acc, err = t.ingest(ctx, m, a, true)
	}
	if err != nil || acc.Run != "" && !acc.Duplicate {
		return acc, err
	}
	return chat.Accepted{Memory: e.ID}, t.rt.changes.Edited(ctx, e)
}

// ingest stores a message that is neither a command nor a choice, with a run if it may be answered, and wakes its room. Again is for a
// message after an edit ([chat.JoinRule.Again]), which is stored only if it is answered.
func (t *intake) ingest(ctx context.Context, m chat.Message, a admission, again bool) (chat.Accepted, error) {
	verdict, attention, err := t.admit(ctx, m, a)
	if err != nil || again && verdict != access.Yes {
		return chat.Accepted{}, err
	}
	if !a.known && !m.Place.Kind.Private() {
		m.Kind = chat.Overheard
	}
	j := t.rt.cfg.Turns.JoinRule(m, verdict)
	j.Again = again
	acc, err := t.store.Accept(ctx, m, j)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	if !acc.Duplicate {
		if !m.Bot && a.answered {
			t.rt.bots.Person(m.Room)
		}
		t.rt.hub.Emit(event.Received(m, acc))
		t.rt.roster.Meet(ctx, m)
	}
	if acc.Run != "" && !acc.Duplicate {
		if verdict == access.Yes && attention == chat.Unfollowed {
			t.follows(ctx, m.Room)
		}
		if t.rt.cfg.Turns.PolicyFor(m.Place.Kind) == schedule.Supersede && verdict == access.Yes { // until the model has decided, nothing gives way
			t.announce(ctx, m.Room, acc.Response)
		}
		t.rt.scheduler.wake(m.Room)
	}
	return acc, nil
}

// admit returns whether m is answered, as far as rules can say ([access.Maybe] leaves it to the model), and how closely the agent
// listens in its room.
func (t *intake) admit(ctx context.Context, m chat.Message, in admission) (access.Decision, chat.Attention, error) {
	if !in.answered {
		return access.No, chat.Normal, nil
	}
	a, err := t.store.Attention(ctx, m.Room)
	if err != nil {
		return access.No, chat.Normal, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	d := t.rt.cfg.decide(m, a)
	if m.Bot && (d != access.Yes || !t.rt.bots.Turn(m.Room, m.Author, time.Now())) {
		d = access.No
	}
	return d, a, nil
}

// follows has the agent listen again in a room that it left, because it is addressed there. If the write fails, the next message
// that addresses the agent does it.
func (t *intake) follows(ctx context.Context, room chat.RoomID) {
	if err := t.store.SetAttention(ctx, room, chat.Normal); err != nil {
		t.rt.cfg.Log.Warn("can't resume following a room", "room", room, "err", err)
	}
}

// announce stops earlier runs of room, on whatever replica. It may fail: they then end when this turn starts. It is not cut off with
// ctx, the request of the platform, because the message is stored by now.
func (t *intake) announce(ctx context.Context, room chat.RoomID, id chat.ResponseID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), coordTimeout)
	defer cancel()
	_, err := t.rt.cfg.Tracker.Claim(ctx, t.rt.cfg.Agent.ID, room, id)
	if err == nil || settled(err) != nil {
		t.rt.announcing.Ended()
	} else if t.rt.announcing.Failed() { // what follows is no news
		t.rt.cfg.Log.Warn("can't announce a turn; until that works again, earlier runs end on their own", "room", room, "err", err)
	}
}
