package discordfake

import (
	"cmp"
	"encoding/json"
	"maps"
	"time"
)

// Message flags that a bot may set, in Discord's numbers.
const (
	FlagSuppressEmbeds        = 1 << 2
	FlagSuppressNotifications = 1 << 12
)

// FlagVoice marks a message that was spoken; its attachment is the sound.
const FlagVoice = 1 << 13

// Attachment is a file on a message. Without a URL it has one that serves Data, signed again whenever the message is
// handed out (DR-26).
type Attachment struct {
	ID          string // given when it comes to stand in a message
	Filename    string
	ContentType string
	URL         string
	Size        int // bytes; 0 is that of Data
	Data        []byte
}

// message is one post with all its past; guarded by the server's mutex.
type message struct {
	id          string
	channel     *channel
	author      *user
	flags       int
	nonce       json.RawMessage
	reply       *reference
	mentions    mentions
	attachments []Attachment
	embeds      json.RawMessage
	components  json.RawMessage
	unfurled    bool
	undelivered bool           // no session is told of it
	forwards    *message       // its snapshot is a part of the message
	extra       map[string]any // further fields
	versions    []Version
	deleted     bool
	deletedAt   time.Time
	command     bool         // it answers a command
	by          *interaction // nil for a message by other ways
	onlyFor     string       // the user who sees an ephemeral message
	reactions   []string     // the bot's
}

// reference is what a reply points at; the message may be gone.
type reference struct{ messageID, channelID string }

func (m *message) content() string      { return m.versions[len(m.versions)-1].Content }
func (m *message) createdAt() time.Time { return m.versions[0].At }

func (m *message) editedAt() time.Time {
	if len(m.versions) == 1 {
		return time.Time{}
	}
	return m.versions[len(m.versions)-1].At
}

// object is JSON under construction.
type object = map[string]any

func (u *user) object() object {
	return object{
		"id": u.id, "username": u.name, "discriminator": "0", "global_name": u.name,
		"avatar": nil, "bot": u.bot, "public_flags": 0,
	}
}

func (u *user) memberObject(now time.Time) object {
	return object{
		"nick": nil, "roles": append([]string{}, u.roles...), "joined_at": timestamp(now.Add(-24 * time.Hour)),
		"deaf": false, "mute": false, "flags": 0, "pending": false,
	}
}

// guildMember is the member with its user, as it stands outside of messages.
func (u *user) guildMember(now time.Time) object {
	o := u.memberObject(now)
	o["user"] = u.object()
	return o
}

// object is the message as REST answers it.
func (s *Server) messageObject(m *message) object {
	o := s.bareObject(m)
	if f := m.forwards; f != nil {
		o["message_reference"] = object{"type": 1, "message_id": f.id, "channel_id": f.channel.id}
		o["message_snapshots"] = []object{{"message": s.snapshot(f)}}
	}
	if m.reply == nil {
		return o
	}
	o["type"] = 19
	ref := object{"type": 0, "message_id": m.reply.messageID, "channel_id": m.reply.channelID}
	if m.channel.guild != nil {
		ref["guild_id"] = m.channel.guild.id
	}
	o["message_reference"] = ref
	o["referenced_message"] = nil
	if to := s.world.messages[m.reply.messageID]; to != nil && !to.deleted {
		o["referenced_message"] = s.bareObject(to)
	}
	return o
}

func (s *Server) bareObject(m *message) object {
	o := object{
		"id": m.id, "channel_id": m.channel.id, "type": 0, "author": m.author.object(),
		"content": m.content(), "timestamp": timestamp(m.createdAt()), "edited_timestamp": nil,
		"tts": false, "pinned": false, "flags": m.flags,
		"mention_everyone": m.mentions.everyone, "mentions": s.mentionedUsers(m.mentions),
		"mention_roles": append([]string{}, m.mentions.roles...),
		"attachments":   s.attachmentObjects(m), "embeds": s.embeds(m), "components": orEmpty(m.components),
	}
	if m.command {
		o["type"] = 20
	}
	if m.onlyFor != "" {
		o["flags"] = m.flags | flagEphemeral
	}
	if at := m.editedAt(); !at.IsZero() {
		o["edited_timestamp"] = timestamp(at)
	}
	maps.Copy(o, m.extra)
	return o
}

// snapshot is m as messages that forward it show it: without its author and its ids.
func (s *Server) snapshot(m *message) object {
	o := s.bareObject(m)
	for _, name := range []string{"id", "channel_id", "author", "pinned", "tts", "mention_everyone", "poll"} {
		delete(o, name)
	}
	return o
}

// created is the message as its author's answer and MESSAGE_CREATE show it:
// with the nonce.
func (s *Server) createdObject(m *message) object {
	o := s.messageObject(m)
	if m.nonce != nil {
		o["nonce"] = m.nonce
	}
	return o
}

// forGateway adds what only events carry.
func (s *Server) forGateway(m *message, o object) object {
	o["channel_type"] = m.channel.kind
	if m.channel.guild != nil {
		o["guild_id"] = m.channel.guild.id
		o["member"] = m.author.memberObject(m.createdAt())
	}
	return o
}

func (s *Server) mentionedUsers(of mentions) []object {
	out := []object{}
	for _, id := range of.users {
		out = append(out, s.world.users[id].object())
	}
	return out
}

func (s *Server) attachmentObjects(m *message) []object {
	out := []object{}
	for _, a := range m.attachments {
		at := s.fileURL(m, a)
		out = append(out, object{
			"id": a.ID, "filename": a.Filename, "content_type": a.ContentType,
			"url": at, "proxy_url": at, "size": cmp.Or(a.Size, len(a.Data)),
		})
	}
	return out
}

func (s *Server) embeds(m *message) any {
	switch {
	case m.flags&FlagSuppressEmbeds != 0:
		return []object{}
	case m.unfurled:
		return []object{{"type": "link", "url": "https://example.com/", "title": "A linked page"}}
	}
	return orEmpty(m.embeds)
}

// orEmpty is list, or [] where it is missing or null.
func orEmpty(list json.RawMessage) json.RawMessage {
	if len(list) == 0 || string(list) == "null" {
		return json.RawMessage("[]")
	}
	return list
}
