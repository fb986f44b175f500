package intake

import (
	"context"
	"fmt"
	"log/slog"

	"parley/core/access"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/schedule"
	"parley/internal/lang"
)

// MessageStore contains the store methods of [Messages].
type MessageStore interface {
	Accept(ctx context.Context, in chat.Message, j chat.JoinRule) (chat.Accepted, error)
	SetAttention(ctx context.Context, room chat.RoomID, a chat.Attention) error
}

// Messages stores messages that are neither commands nor choices. Its fields are set before use. It is safe for concurrent use.
type Messages struct {
	Store     MessageStore
	Admission *Admission
	Turns     schedule.TurnPolicy
	Claims    *schedule.Claims
	Lanes     *schedule.Lanes
	Signals   *schedule.Signals
	Roster    *Roster
	Emit      func(e event.Event)
	Log       *slog.Logger
}

// add stores m, with a run if it may be answered, and wakes its room. again is for a message after an edit
// ([chat.JoinRule.Again]), which is stored only if it is answered. It fails with the error of the store.
func (ms *Messages) add(ctx context.Context, m chat.Message, a admission, again bool) (chat.Accepted, error) {
	verdict, attention, err := ms.Admission.shouldAnswer(ctx, m, a)
	if err != nil || again && verdict != access.Yes {
		return chat.Accepted{}, err
	}
	if !a.known && !m.Place.Kind.Private() {
		m.Kind = chat.Overheard
	}
	j := ms.Turns.JoinRule(m, verdict)
	j.Again = again
	responds := len(m.Address.Response) > 0
	if responds && verdict == access.Yes {
		j.Kind, j.Window = chat.RunRespond, 0
	}
	acc, err := ms.Store.Accept(ctx, m, j)
	if err != nil {
		return chat.Accepted{}, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	acc.Relayed = a.relayed
	if !acc.Duplicate {
		if !m.Bot && a.answered {
			ms.Admission.userWrote(m.Room)
		}
		ms.Emit(event.Received(m, acc))
		ms.Roster.saveAuthor(ctx, m)
	}
	if acc.Run != "" && !acc.Duplicate {
		if verdict == access.Yes && attention == chat.Quiet {
			ms.follow(ctx, m.Room)
		}
		if !j.Kind.Apart() && ms.Turns.PolicyFor(m.Place.Kind) == schedule.Supersede && verdict == access.Yes { // an undecided message interrupts nothing
			ms.Claims.Announce(ctx, m.Room, acc.Response)
		}
		ms.Lanes.WakeRoom(m.Room)
		if verdict == access.Yes {
			ms.Signals.Opened(m, acc.Run, j.Window)
		}
	}
	if !a.known && m.Addressed && !m.Place.Kind.Private() && !m.Bot && !responds && !acc.Duplicate && !ms.Admission.Policy.Off(m.Place) {
		ms.Signals.Refused(m)
	}
	if responds && acc.Run == "" {
		acc.Refused = unanswered(ctx, a, attention)
		acc.MayAsk = !a.known && ms.Admission.Policy.Direct == access.DirectPairing
	}
	return acc, nil
}

// unanswered returns the reason why a message whose platform waits for an answer gets none.
func unanswered(ctx context.Context, a admission, attention chat.Attention) string {
	switch {
	case a.relayed:
		return ""
	case !a.known:
		return lang.Say(ctx, "choice.not_invited")
	case !a.answered:
		return lang.Say(ctx, "message.channel_off")
	case attention == chat.Muted:
		return lang.Say(ctx, "message.muted")
	}
	return lang.Say(ctx, "message.excuse")
}

// follow restores the agent's attention in a room that it left, because a message addresses it there. If the write
// fails, the next message that addresses the agent repeats it.
func (ms *Messages) follow(ctx context.Context, room chat.RoomID) {
	if err := ms.Store.SetAttention(ctx, room, chat.Normal); err != nil {
		ms.Log.Warn("can't resume following a room", "room", room, "err", err)
	}
}
