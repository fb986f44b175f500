// Package access decides which messages are answered, based on accounts, roles and rooms only, never on a message's
// text.
package access

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"parley/core/chat"
	"parley/internal/lang"
)

// Policy is the configured part of the decision about answers, by message and room; approved users are in the
// store. The zero value allows no user.
type Policy struct {
	// Open names the connectors whose users are all allowed: those with their own access control.
	Open map[string]bool
	// Owners approve other users. If it is empty, the first user who sends the owner's pairing code becomes the owner.
	Owners map[chat.EntityID]bool
	// Operator is the account of the person who runs the gateway on its machine: an owner in addition to the others. It
	// has no direct chat for questions.
	Operator chat.EntityID
	// Staff approves calls of actions, lets answers exceed soft limits, blocks users and chooses models. Staff and the Allowed users are
	// answered wherever the agent listens, and so are all authors in the rooms of Guests.
	Staff   Members
	Allowed Members
	Guests  RoomSet
	// Blocked users are never answered, and nothing of them is stored. The store lists more of them.
	Blocked Members
	Direct  DirectAccess
	Group   GroupAccess
	// Listen contains the rooms where the agent listens, in addition to direct chats. Empty means everywhere.
	Listen RoomSet
	// Always and Sources list group messages that are answered without being addressed to the agent: all messages in
	// some rooms, and all messages with some [chat.Message.Source].
	Always  RoomSet
	Sources map[string]bool
	Bots    BotAccess
	// Overrides apply to some rooms. If several match a room, the one for its smallest chat wins, and one for a world
	// comes last.
	Overrides []Override
	Switch    SwitchPolicy
	// Hours are the times when owners and staff take over conversations, in the form of [quiethours.Within]; empty: always.
	Hours []string
}

// IsAlways reports whether m is answered even if it is not addressed to the agent.
func (a Policy) IsAlways(m chat.Message) bool {
	return a.Always.hold(m.Place) || m.Source != "" && a.Sources[m.Source]
}

// OverrideFor returns the override that applies to r.
func (a Policy) OverrideFor(r chat.Room) Override {
	for _, id := range r.Chats {
		for _, o := range a.Overrides {
			if o.Chats[r.Connector+":"+id] {
				return o
			}
		}
	}
	for _, o := range a.Overrides {
		if o.hold(r) {
			return o
		}
	}
	return Override{}
}

// GroupIn returns the access rule for r, which must not be a direct chat.
func (a Policy) GroupIn(r chat.Room) GroupAccess {
	if o := a.OverrideFor(r); o.Group != "" {
		return o.Group
	}
	return a.Group
}

// Listening describes the messages that the agent answers in r, in a sentence.
func (a Policy) Listening(v lang.Voice, r chat.Room, attention chat.Attention) string {
	switch {
	case attention == chat.Muted:
		return v.Say("listening.muted")
	case r.Kind.Private():
		return v.Say("listening.all")
	case attention == chat.Quiet:
		return v.Say("listening.quiet")
	case attention == chat.Ambient || a.GroupIn(r) == GroupAmbient:
		return v.Say("listening.ambient")
	}
	return v.Say("listening.mention")
}

// Off reports whether the agent answers no user in r.
func (a Policy) Off(r chat.Room) bool {
	switch {
	case a.Open[r.Connector]:
		return false
	case r.Kind.Private():
		return a.Direct == DirectOff
	}
	return a.GroupIn(r) == GroupOff || !a.Listen.none() && !a.Listen.hold(r)
}

// Decide reports whether the agent answers author in r; maybe means only if the owner has approved them. The decision
// depends on platform data only, never on the text of a message, which its author can forge.
func (a Policy) Decide(r chat.Room, author chat.EntityID, roles []string) Decision {
	switch {
	case a.Open[r.Connector]:
		return Yes
	case a.Off(r):
		return No
	case r.Kind.Private() && a.Direct == DirectOpen, a.Owners[author], a.Known(author), a.Guests.hold(r):
		return Yes
	}
	if a.HasRole(r, roles) {
		return Yes
	}
	return Maybe
}

// Blocks reports whether author is blocked, by account or by one of their roles.
func (a Policy) Blocks(author chat.EntityID, roles []string) bool {
	connector, _, _ := strings.Cut(string(author), "/")
	return a.Blocked.Accounts[author] || a.Blocked.hasRole(chat.Room{Connector: connector}, roles)
}

// Known reports whether author is listed as staff or allowed, by account.
func (a Policy) Known(author chat.EntityID) bool {
	return a.Staff.Accounts[author] || a.Allowed.Accounts[author]
}

// HasRole reports whether one of an author's roles in r gives access.
func (a Policy) HasRole(r chat.Room, roles []string) bool {
	return a.Allowed.hasRole(r, roles) || a.Staff.hasRole(r, roles)
}

// IsStaffRole reports whether one of an author's roles in r is one of the staff.
func (a Policy) IsStaffRole(r chat.Room, roles []string) bool { return a.Staff.hasRole(r, roles) }

// Members are accounts, and platform roles as "connector:id" with the platform's own id.
type Members struct {
	Accounts map[chat.EntityID]bool
	Roles    map[string]bool
}

// hasRole reports whether one of the roles of an account in r is listed.
func (m Members) hasRole(r chat.Room, roles []string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return m.Roles[r.Connector+":"+role] })
}

// ModelFor returns the name of the model that the overrides assign to author in r: their own, else that of the room.
// Empty means the default one.
func (a Policy) ModelFor(r chat.Room, author chat.EntityID) string {
	for _, o := range a.Overrides {
		if o.Users[author] && o.Model != "" {
			return o.Model
		}
	}
	return a.OverrideFor(r).Model
}

// A RoomSet lists chats, as "connector:id" with the platform's own id, all chats of a connector by its name, and whole worlds.
type RoomSet struct {
	Chats  map[string]bool
	Worlds map[chat.WorldID]bool
}

// none reports whether p is empty.
func (p RoomSet) none() bool { return len(p.Chats)+len(p.Worlds) == 0 }

// Includes reports whether p is empty, or contains r.
func (p RoomSet) Includes(r chat.Room) bool { return p.none() || p.hold(r) }

// hold reports whether p contains r, or a chat or world that r belongs to.
func (p RoomSet) hold(r chat.Room) bool {
	for _, id := range r.Chats {
		if p.Chats[r.Connector+":"+id] {
			return true
		}
	}
	return r.World != "" && p.Worlds[r.World] || p.Chats[r.Connector]
}

// An Override changes settings in some rooms.
type Override struct {
	RoomSet
	Group  GroupAccess            // empty: unchanged
	System string                 // replaces the agent's system prompt; empty: unchanged
	Tools  []string               // the names of the actions that can be used there; nil: all
	Model  string                 // the name of the model that answers; empty: the default one
	Hold   bool                   // answers wait until an owner or a member of the staff has sent them
	Users  map[chat.EntityID]bool // the users that Model answers in every room; such an override has neither rooms nor other settings
}

// BotAccess decides which messages of allowed bots are answered. The default is BotsOff.
type BotAccess string

// The values of BotAccess.
const (
	BotsOff     BotAccess = "off"     // none, so that two bots can't talk to each other endlessly
	BotsMention BotAccess = "mention" // those addressed to the agent in groups, rate-limited
)

// DirectAccess decides which users are answered in direct chats.
type DirectAccess string

// The values of DirectAccess: the users that are answered in addition to allowed and approved users. The default is
// DirectAllowlist.
const (
	DirectOpen      DirectAccess = "open"      // everyone
	DirectAllowlist DirectAccess = "allowlist" // no other users; each is told the reason once
	DirectPairing   DirectAccess = "pairing"   // no other users; each receives a pairing code that the owner can approve
	DirectOff       DirectAccess = "off"       // no users at all
)

// GroupAccess decides which messages of allowed users are answered in a group.
type GroupAccess string

// The values of GroupAccess. The default is GroupMentionOnly.
const (
	GroupMentionOnly GroupAccess = "mention_only" // messages addressed to the agent
	GroupAmbient     GroupAccess = "ambient"      // also messages that seem to be meant for the agent
	GroupOff         GroupAccess = "off"          // none
)

// SwitchPolicy defines the users who can choose the model that answers in a room, besides owners and staff. The zero value
// allows no user.
type SwitchPolicy struct {
	Direct     bool            // every user, in direct chats
	Connectors map[string]bool // every user, in direct chats of these connectors
}

// Allows reports whether everyone can choose the model of r.
func (p SwitchPolicy) Allows(r chat.Room) bool {
	return r.Kind.Private() && (p.Direct || p.Connectors[r.Connector])
}

// Decision is the outcome of an access check for a message.
type Decision uint8

// The decisions.
const (
	No          Decision = iota // the message is not answered
	ContextOnly                 // it starts no turn, but can continue the author's previous message
	Yes                         // answered by rule, without asking a model: its turn can be claimed at once
	Maybe                       // a model decides when the message's turn comes
)

// EntityStore finds users. Entity fails with [chat.ErrNotFound] if there is no such user.
type EntityStore interface {
	Entity(ctx context.Context, id chat.EntityID) (chat.Entity, error)
}

// Speak returns ctx for the sentences to a user: in their language, which is read with the first sentence. If the store
// fails, that is logged, and the sentences are English.
func Speak(ctx context.Context, store EntityStore, id chat.EntityID, log *slog.Logger) context.Context {
	return lang.With(ctx, func() lang.Voice {
		e, err := store.Entity(ctx, id)
		if chat.Unless(err, chat.ErrNotFound) != nil {
			log.Warn("can't read the language of a user", "err", err)
		}
		return e.Voice()
	})
}

// PresenceStore finds rooms and worlds. Both methods fail with [chat.ErrNotFound] if there is none.
type PresenceStore interface {
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	World(ctx context.Context, id chat.WorldID) (chat.World, error)
}

// BotRemoved reports whether the agent was removed from the room of run. It fails with the error of the store.
func BotRemoved(ctx context.Context, store PresenceStore, run chat.Run) (bool, error) {
	r, err := store.Room(ctx, run.Room)
	if err != nil || r.Gone || r.World == "" {
		return r.Gone, chat.Unless(err, chat.ErrNotFound)
	}
	w, err := store.World(ctx, r.World)
	return w.Gone, chat.Unless(err, chat.ErrNotFound)
}
