package discordfake

import (
	"strings"
	"time"
)

// SayOption changes what [Server.Say] posts.
type SayOption func(*Server, *message, *string)

// ReplyTo makes the message a reply. Like a person's, it pings the author of
// the other one.
func ReplyTo(messageID string) SayOption {
	return func(s *Server, m *message, _ *string) {
		m.reply = &reference{messageID: messageID, channelID: m.channel.id}
	}
}

// Mention puts mentions of users before the text.
func Mention(userIDs ...string) SayOption {
	return func(_ *Server, _ *message, text *string) {
		var tags strings.Builder
		for _, id := range userIDs {
			tags.WriteString("<@" + id + "> ")
		}
		*text = tags.String() + *text
	}
}

// MentionBot puts a mention of the bot before the text.
func MentionBot() SayOption {
	return func(s *Server, m *message, text *string) { Mention(s.bot.id)(s, m, text) }
}

// Attach adds files to the message.
func Attach(files ...Attachment) SayOption {
	return func(s *Server, m *message, _ *string) { m.attachments = append(m.attachments, s.receive(files)...) }
}

// Undelivered makes it a message that the bot is not told of, such as one from before it joined.
func Undelivered() SayOption { return func(_ *Server, m *message, _ *string) { m.undelivered = true } }

// Forward makes the message forward another one.
func Forward(messageID string) SayOption {
	return func(s *Server, m *message, _ *string) { m.forwards = s.mustMessage(messageID) }
}

// With gives the message further fields, such as embeds, poll or sticker_items.
func With(fields map[string]any) SayOption {
	return func(_ *Server, m *message, _ *string) { m.extra = fields }
}

// Spoken makes the message a voice message; it needs its sound attached (DR-25).
func Spoken() SayOption {
	return func(_ *Server, m *message, _ *string) { m.flags |= FlagVoice }
}

// Say posts a message as a user and returns its id. Sessions hear
// MESSAGE_CREATE.
func (s *Server) Say(channelID, userID, text string, opts ...SayOption) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &message{channel: s.mustChannel(channelID), author: s.mustUser(userID)}
	for _, opt := range opts {
		opt(s, m, &text)
	}
	m.versions = []Version{{At: time.Now(), Content: text, Attachments: m.attachments}}
	m.mentions = s.mentionsOf(m.channel, text, nil, s.replied(m))
	s.post(m)
	return m.id
}

// UserEdit changes a message's text as its author. Sessions hear
// MESSAGE_UPDATE.
func (s *Server) UserEdit(messageID, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.mustMessage(messageID)
	s.revise(m, text, s.mentionsOf(m.channel, text, nil, s.replied(m)))
}

// UserDelete deletes anybody's message, as its author or a moderator does.
// Sessions hear MESSAGE_DELETE.
func (s *Server) UserDelete(messageID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.mustMessage(messageID); !m.deleted {
		s.remove(m)
	}
}

// Unfurl gives a message the preview of its link: sessions hear a
// MESSAGE_UPDATE with embeds and the same text (IN-12). It reports whether there
// was anything to show: not under [FlagSuppressEmbeds].
func (s *Server) Unfurl(messageID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.mustMessage(messageID)
	if m.deleted || m.flags&FlagSuppressEmbeds != 0 {
		return false
	}
	m.unfurled = true
	s.emitMessage("MESSAGE_UPDATE", m, s.messageObject(m))
	return true
}

// BulkDelete deletes messages of one channel at once, as a moderator's bot does.
// Sessions hear MESSAGE_DELETE_BULK.
func (s *Server) BulkDelete(messageIDs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var c *channel
	for _, id := range messageIDs {
		m := s.mustMessage(id)
		m.deleted, m.deletedAt, c = true, time.Now(), m.channel
	}
	if c == nil {
		return
	}
	o := object{"ids": messageIDs, "channel_id": c.id}
	if c.guild != nil {
		o["guild_id"] = c.guild.id
	}
	s.emit(event{name: "MESSAGE_DELETE_BULK", channel: c, needs: messageIntent(c), data: o})
}

// React puts a user's emoji on a message, or takes it away. Sessions hear
// MESSAGE_REACTION_ADD or MESSAGE_REACTION_REMOVE.
func (s *Server) React(messageID, userID, emoji string, added bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, u := s.mustMessage(messageID), s.mustUser(userID)
	ev := event{name: "MESSAGE_REACTION_REMOVE", channel: m.channel, needs: IntentDMReactions, data: object{
		"user_id": u.id, "channel_id": m.channel.id, "message_id": m.id,
		"emoji": object{"id": nil, "name": emoji}, "burst": false, "type": 0,
	}}
	if m.channel.guild != nil {
		ev.needs = IntentGuildReactions
		ev.data["guild_id"] = m.channel.guild.id
	}
	if added {
		ev.name = "MESSAGE_REACTION_ADD"
		if m.channel.guild != nil {
			ev.data["member"] = u.guildMember(time.Now())
		}
	}
	s.emit(ev)
}

// DeleteChannel takes a channel of a guild away. Sessions hear CHANNEL_DELETE.
func (s *Server) DeleteChannel(channelID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannel(channelID)
	s.emit(event{name: "CHANNEL_DELETE", channel: c, needs: IntentGuilds, data: s.channelObject(c)})
	delete(s.world.channels, c.id)
}

// RemoveBot throws the bot out of a guild: sessions hear GUILD_DELETE. If trouble is set it is only out of reach.
func (s *Server) RemoveBot(guildID string, trouble bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := object{"id": s.mustGuild(guildID).id}
	if trouble {
		o["unavailable"] = true
	}
	s.emit(event{name: "GUILD_DELETE", guild: guildID, needs: IntentGuilds, data: o})
}

// UserTyping shows a user typing. Sessions hear TYPING_START.
func (s *Server) UserTyping(channelID, userID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.showTyping(s.mustChannel(channelID), s.mustUser(userID))
}
