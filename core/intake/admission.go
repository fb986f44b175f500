package intake

import (
	"context"
	"fmt"
	"time"

	"parley/core/access"
	"parley/core/chat"
	"parley/core/schedule"
)

// AdmissionStore contains the store methods of [Admission].
type AdmissionStore interface {
	Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
}

// Admission decides by rules whether a message gets an answer. Its exported fields are set before use. It is safe for concurrent use.
type Admission struct {
	Store     AdmissionStore
	Agent     chat.Agent
	Policy    access.Policy
	Pairing   *access.Pairing
	Handovers *access.Handovers
	Deaf      bool // voice messages can't be transcribed

	bots schedule.Bots
}

// admission is the access of the author of one message. It is computed once, when the message arrives.
type admission struct {
	known    bool // the author has access
	invited  bool // the agent works for the author, whose commands count; false for a bot that isn't answered
	relayed  bool // it goes to a person instead of the agent
	answered bool // the message can get an answer, even if only the line for strangers
}

// admit applies the access policy to m. Bots are never invited, so they give no commands. It fails with the error of the
// store.
func (ad *Admission) admit(ctx context.Context, m chat.Message) (a admission, err error) {
	private := m.Place.Kind.Private()
	if a.known, err = ad.Pairing.Invited(ctx, m.Place, m.Author, m.Roles); err != nil {
		return admission{}, fmt.Errorf("check access of the author of %s: %w", m.ID, err)
	}
	if m.Bot && (ad.Policy.Bots != access.BotsMention || !m.Addressed || private) {
		return a, nil // bots that answer each other must not talk without end
	}
	a.invited = a.known
	// A role that came with a question also covers the choice that follows it, which comes without roles.
	byRole := m.Address.AuthorizedByRole == m.Author && m.Author != ""
	a.known = a.known || byRole
	if a.answered = a.invited; private || byRole {
		a.answered = !ad.Policy.Off(m.Place)
	}
	return a, nil
}

// shouldAnswer returns whether m is answered, as far as rules decide ([access.Maybe] leaves it to the model), and the
// agent's attention in its room. It fails with the error of the store.
func (ad *Admission) shouldAnswer(ctx context.Context, m chat.Message, in admission) (access.Decision, chat.Attention, error) {
	if !in.answered {
		return access.No, chat.Normal, nil
	}
	a, err := ad.Store.Attention(ctx, m.Room)
	if err != nil {
		return access.No, chat.Normal, fmt.Errorf("accept %s: %w", m.ID, err)
	}
	d := ad.decide(m, a)
	if m.Bot && (d != access.Yes || !ad.bots.Turn(m.Room, m.Author, time.Now())) {
		d = access.No
	}
	return d, a, nil
}

// decide applies the rules to a message whose author and room have access. The first rule that applies decides:
// commands of users (muted, unfollowed) come before the configuration of groups, but a direct address ends an
// unfollowed silence.
func (ad *Admission) decide(m chat.Message, a chat.Attention) access.Decision {
	switch {
	case a == chat.Muted, m.Remark:
		return access.No
	case m.Place.Kind.Private(), ad.Policy.IsAlways(m), m.Addressed:
		return access.Yes
	case a == chat.Quiet:
		return access.No
	case a != chat.Ambient && ad.Policy.GroupIn(m.Place) != access.GroupAmbient:
		return access.ContextOnly
	case ad.Deaf && m.Untranscribed():
		return access.ContextOnly // the model has nothing to judge it by
	case ad.Agent.IsCalled(m.Text):
		return access.Yes
	}
	return access.Maybe
}

// userWrote ends the count of the consecutive turns of bots in room.
func (ad *Admission) userWrote(room chat.RoomID) { ad.bots.Person(room) }

// hasAccess reports whether author has access in room, by account or by the room. It fails with the error of the store.
func (ad *Admission) hasAccess(ctx context.Context, room chat.Room, author chat.EntityID) (bool, error) {
	return ad.Pairing.Invited(ctx, room, author, nil)
}

// stillAnswered reports whether author, who asked the question of run, would still be answered. In groups it only checks the
// room: roles come with messages, and are not known at other times. It fails with the error of the store.
func (ad *Admission) stillAnswered(ctx context.Context, run chat.Run, author chat.EntityID) (bool, error) {
	room, err := ad.Store.Room(ctx, run.Room)
	if err != nil {
		return false, fmt.Errorf("find the room of %s: %w", run.ID, err)
	}
	if room.Kind.Private() {
		return ad.Pairing.Invited(ctx, room, author, nil)
	}
	return !ad.Policy.Off(room), nil
}
