package discordfake

import (
	"fmt"
	"time"
)

// ChannelType is the kind of a channel, in Discord's numbers.
type ChannelType int

// The kinds of channel that the fake knows.
const (
	TypeText   ChannelType = 0
	TypeDM     ChannelType = 1
	TypeNews   ChannelType = 5 // announcements
	TypeThread ChannelType = 11
	TypeForum  ChannelType = 15
)

// Permission is a bit of what the bot may do in a channel.
type Permission int

// The permissions that the fake enforces. The bot has all but
// [ManageMessages] and [ManageThreads] until a test says otherwise.
const (
	ViewChannel Permission = 1 << iota
	SendMessages
	SendInThreads
	ReadHistory
	MentionEveryone
	ManageMessages
	ManageThreads
	AddReactions
	CreateThreads

	usualPermissions = AddReactions | ViewChannel | SendMessages | SendInThreads | ReadHistory | MentionEveryone | CreateThreads
)

type user struct {
	id, name string
	bot      bool
	dmClosed bool
	roles    []string // in all servers
}

type role struct {
	id, name string
	bot      string // the bot that it was made for, if any
}

type guild struct {
	id, name string
	roles    []role
	channels []*channel

	joined     time.Time // the bot
	greets     string    // the system channel
	locale     string    // en-US if empty
	noCommands bool      // without the scope applications.commands
	owner      string    // a user; unknown if empty
	addedBy    string    // who added the bot, as the audit log says; the bot can't read that if it is empty
}

type channel struct {
	id, name         string
	guild            *guild // nil in a direct message
	parent           *channel
	kind             ChannelType
	recipient        *user // of a direct message
	granted, denied  Permission
	archived, locked bool
	messages         []*message // in order of their ids, deleted ones too
	typing           []TypingMark
	private          []*message // that one user sees alone
	owner            *user      // who opened a thread; nil is a moderator
	tags             []string   // of a post; a forum has those of its posts
	start            *message   // stands in a thread for the message that it was opened from
}

type state struct {
	users    map[string]*user
	guilds   map[string]*guild
	order    []*guild
	channels map[string]*channel
	messages map[string]*message
}

func newState() state {
	return state{
		users: map[string]*user{}, guilds: map[string]*guild{},
		channels: map[string]*channel{}, messages: map[string]*message{},
	}
}

func (w *state) addUser(id, name string, bot bool) *user {
	u := &user{id: id, name: name, bot: bot}
	w.users[id] = u
	return u
}

func (w *state) addChannel(c *channel) {
	w.channels[c.id] = c
	if c.guild != nil {
		c.guild.channels = append(c.guild.channels, c)
	}
}

func (w *state) dm(u *user) *channel {
	for _, c := range w.channels {
		if c.recipient == u {
			return c
		}
	}
	return nil
}

// may reports whether the bot has all of p here; a thread inherits from its
// parent. Direct messages have no permissions to lack but managing others'.
func (c *channel) may(p Permission) bool {
	has, lacks := usualPermissions|c.granted, c.denied
	if c.parent != nil {
		has, lacks = has|c.parent.granted, lacks|c.parent.denied
	}
	return has&^lacks&p == p
}

func (c *channel) guildID() string {
	if c.guild == nil {
		return ""
	}
	return c.guild.id
}

// live returns the messages that still stand, oldest first.
func (c *channel) live() []*message {
	var out []*message
	for _, m := range c.messages {
		if !m.deleted {
			out = append(out, m)
		}
	}
	return out
}

// mustUser and mustChannel panic because only a mistaken test can ask for
// what it has not added.
func (s *Server) mustUser(id string) *user {
	u := s.world.users[id]
	if u == nil {
		panic(fmt.Sprintf("discordfake: no user %q", id))
	}
	return u
}

func (s *Server) mustChannel(id string) *channel {
	c := s.world.channels[id]
	if c == nil {
		panic(fmt.Sprintf("discordfake: no channel %q", id))
	}
	return c
}

func (s *Server) mustMessage(id string) *message {
	m := s.world.messages[id]
	if m == nil {
		panic(fmt.Sprintf("discordfake: no message %q", id))
	}
	return m
}

// nextID returns a new snowflake.
func (s *Server) nextID() string { return s.ids.next(time.Now()) }
