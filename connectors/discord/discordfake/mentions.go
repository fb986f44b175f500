package discordfake

import (
	"regexp"
	"slices"
	"time"
)

// PingKind is the kind of people that a ping reaches.
type PingKind string

// The kinds of ping.
const (
	PingUser     PingKind = "user"
	PingRole     PingKind = "role"
	PingEveryone PingKind = "everyone" // @everyone and @here
)

// Ping is a mention by the bot that took effect.
type Ping struct {
	At      time.Time
	Channel string
	Message string
	Kind    PingKind
	Target  string // the user's or role's id; "" for everyone
	OnEdit  bool   // it came with an edit, and was not in the text before
}

// mentions are those of a message that are in effect.
type mentions struct {
	users, roles []string
	everyone     bool
}

// allowedMentions is the object of that name in a request; nil is Discord's
// default, which allows everything (DR-09).
type allowedMentions struct {
	Parse       []string `json:"parse"`
	Users       []string `json:"users"`
	Roles       []string `json:"roles"`
	RepliedUser bool     `json:"replied_user"`
}

func (a *allowedMentions) check() *apiError {
	if a == nil {
		return nil
	}
	for _, kind := range a.Parse {
		if !slices.Contains([]string{"users", "roles", "everyone"}, kind) {
			return invalidForm("allowed_mentions", "BASE_TYPE_CHOICES", "parse holds "+kind)
		}
	}
	both := len(a.Users) > 0 && slices.Contains(a.Parse, "users") ||
		len(a.Roles) > 0 && slices.Contains(a.Parse, "roles")
	if both {
		return invalidForm("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "a kind is in parse and listed too")
	}
	if len(a.Users) > 100 || len(a.Roles) > 100 {
		return invalidForm("allowed_mentions", "BASE_TYPE_BAD_LENGTH", "Must be 100 or fewer in length.")
	}
	return nil
}

func (a *allowedMentions) allows(kind, id string) bool {
	if a == nil || slices.Contains(a.Parse, kind) {
		return true
	}
	return kind == "users" && slices.Contains(a.Users, id) || kind == "roles" && slices.Contains(a.Roles, id)
}

var mentionForm = regexp.MustCompile(`<@(!|&)?(\d+)>|@everyone|@here`)

// mentionsOf finds the mentions in a text that take effect. It does not spare
// code blocks, as Discord does: a text that holds a mention anywhere needs
// allowed_mentions.
func (s *Server) mentionsOf(c *channel, text string, allowed *allowedMentions, replyTo *user) mentions {
	var out mentions
	for _, found := range mentionForm.FindAllStringSubmatch(text, -1) {
		kind, id := found[1], found[2]
		switch {
		case id == "":
			out.everyone = out.everyone || c.guild != nil && c.may(MentionEveryone) && allowed.allows("everyone", "")
		case kind == "&":
			if c.hasRole(id) && allowed.allows("roles", id) {
				out.roles = appendNew(out.roles, id)
			}
		case s.world.users[id] != nil && allowed.allows("users", id):
			out.users = appendNew(out.users, id)
		}
	}
	if replyTo != nil && (allowed == nil || allowed.RepliedUser) {
		out.users = appendNew(out.users, replyTo.id)
	}
	return out
}

func (c *channel) hasRole(id string) bool {
	return c.guild != nil && slices.ContainsFunc(c.guild.roles, func(r role) bool { return r.id == id })
}

func appendNew(list []string, id string) []string {
	if slices.Contains(list, id) {
		return list
	}
	return append(list, id)
}

// notePings records the people that the bot's message pings and that it did not ping
// before.
func (s *Server) notePings(m *message, before mentions, onEdit bool) {
	ping := func(kind PingKind, target string) {
		s.journal.pings = append(s.journal.pings, Ping{
			At: time.Now(), Channel: m.channel.id, Message: m.id, Kind: kind, Target: target, OnEdit: onEdit,
		})
	}
	for _, id := range m.mentions.users {
		if id != s.bot.id && !slices.Contains(before.users, id) {
			ping(PingUser, id)
		}
	}
	for _, id := range m.mentions.roles {
		if !slices.Contains(before.roles, id) {
			ping(PingRole, id)
		}
	}
	if m.mentions.everyone && !before.everyone {
		ping(PingEveryone, "")
	}
}
