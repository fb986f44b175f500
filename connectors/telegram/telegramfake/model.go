package telegramfake

import (
	"encoding/json"
	"maps"
	"time"
)

// User is a person or a bot, in the wire's form.
type User struct {
	ID           int64  `json:"id"`
	IsBot        bool   `json:"is_bot"`
	FirstName    string `json:"first_name"`
	LastName     string `json:"last_name,omitempty"`
	Username     string `json:"username,omitempty"`
	LanguageCode string `json:"language_code,omitempty"`
}

// Chat is a conversation, in the wire's form. Type is private, group, supergroup or channel.
type Chat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Title     string `json:"title,omitempty"`
	Username  string `json:"username,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

const (
	private    = "private"
	group      = "group"
	supergroup = "supergroup"
	channel    = "channel"
)

// Entity is a MessageEntity. Offset and Length count UTF-16 code units.
type Entity struct {
	Type           string `json:"type"`
	Offset         int    `json:"offset"`
	Length         int    `json:"length"`
	URL            string `json:"url,omitempty"`
	User           *User  `json:"user,omitempty"`
	Language       string `json:"language,omitempty"`
	CustomEmojiID  string `json:"custom_emoji_id,omitempty"`
	UnixTime       int64  `json:"unix_time,omitempty"`
	DateTimeFormat string `json:"date_time_format,omitempty"`
}

// LinkPreviewOptions is how a link is shown (TR-32).
type LinkPreviewOptions struct {
	IsDisabled       bool   `json:"is_disabled,omitempty"`
	URL              string `json:"url,omitempty"`
	PreferSmallMedia bool   `json:"prefer_small_media,omitempty"`
	PreferLargeMedia bool   `json:"prefer_large_media,omitempty"`
	ShowAboveText    bool   `json:"show_above_text,omitempty"`
}

// Message is a message as users see it now.
type Message struct {
	ID          int
	Chat        int64
	Thread      int  // message_thread_id: a topic, or the root of a chain of replies
	Topic       bool // Thread is a topic
	From        User // who wrote it, also in a channel, where the wire does not tell
	Text        string
	Entities    []Entity
	ReplyTo     int // id of the message it replies to, 0 if none
	LinkPreview *LinkPreviewOptions
	Markup      json.RawMessage // reply_markup
	Silent      bool
	Receiver    int64  // the only user who sees it; 0 for everyone
	Service     string // the field of a service message, as migrate_to_chat_id
	Date        time.Time
	Edited      time.Time // of the last edit, zero if never
	Versions    int
	Upload      *Upload         // that the bot shows; nil if none
	Reactions   []string        // the bot's own
	Lost        int             // entities of this version that the server dropped without a word (TR-05, TR-09)
	Rich        json.RawMessage // the rich message that was sent, of which Text is the visible text; empty for other messages
	ForcesReply bool            // it opened the field for a reply to it, which edits can't change
}

// Version is one state of a message, the first being what was sent.
type Version struct {
	At          time.Time
	Raw         string // as it was given, before parsing
	ParseMode   string
	Text        string
	Entities    []Entity
	LinkPreview *LinkPreviewOptions
	Markup      json.RawMessage
	Upload      *Upload // that the bot showed; nil if none
	Rich        json.RawMessage
	Lost        int
}

// message is the server's record.
type message struct {
	id        int
	chat      *chat
	thread    int
	topic     bool
	from      *User
	date      time.Time
	replyTo   int
	elsewhere bool // the reply is to another chat's message
	silent    bool
	service   string
	value     any            // of the service field
	origin    *User          // who said it first, if it is forwarded
	media     map[string]any // fields of a picture, a file or the like; the text is then its caption
	extra     map[string]any // further fields
	as        *Chat          // in whose name it was written, if not in that of from
	versions  []Version
	deleted   bool
	reactions []string // the bot's
	to        *User    // of an ephemeral message
}

func (m *message) now() *Version { return &m.versions[len(m.versions)-1] }

func (m *message) public() Message {
	v := m.now()
	out := Message{
		ID: m.id, Chat: m.chat.ID, Thread: m.thread, Topic: m.topic, From: *m.from, Text: v.Text, Entities: v.Entities,
		ReplyTo: m.replyTo, LinkPreview: v.LinkPreview, Markup: v.Markup, Silent: m.silent, Service: m.service,
		Date: m.date, Versions: len(m.versions), Lost: v.Lost, Upload: v.Upload, Reactions: m.reactions,
		Rich: v.Rich, ForcesReply: forces(m.versions[0].Markup),
	}
	if len(m.versions) > 1 {
		out.Edited = v.At
	}
	if m.to != nil {
		out.Receiver = m.to.ID
	}
	return out
}

// wire is the message as the API tells it, with the message it replies to but not that one's.
func (m *message) wire(nested bool) map[string]any {
	out := map[string]any{"message_id": m.id, "chat": m.chat.Chat, "date": m.date.Unix()}
	if m.chat.Type == channel {
		out["sender_chat"] = m.chat.Chat
	} else {
		out["from"] = m.from
	}
	v := m.now()
	set := func(name string, value any, when bool) {
		if when {
			out[name] = value
		}
	}
	if m.to != nil {
		out["message_id"], out["ephemeral_message_id"], out["receiver_user"] = 0, -m.id, m.to
	}
	set("message_thread_id", m.thread, m.thread != 0)
	set("is_topic_message", true, m.topic)
	set("edit_date", v.At.Unix(), len(m.versions) > 1)
	text, entities := "text", "entities"
	if m.media != nil {
		text, entities = "caption", "caption_entities"
		maps.Copy(out, m.media)
	}
	maps.Copy(out, m.extra)
	set("sender_chat", m.as, m.as != nil)
	set(text, v.Text, v.Text != "" && v.Rich == nil)
	set("rich_message", v.Rich, v.Rich != nil) // as it was sent: the server adds fields
	set(entities, v.Entities, len(v.Entities) > 0)
	set("link_preview_options", v.LinkPreview, v.LinkPreview != nil)
	set("reply_markup", v.Markup, len(v.Markup) > 0 && m.from.IsBot)
	set(m.service, m.value, m.service != "")
	set("forward_origin", map[string]any{"type": "user", "sender_user": m.origin, "date": m.date.Unix()}, m.origin != nil)
	if target := m.answered(); target != nil && !nested {
		out["reply_to_message"] = target.wire(true)
	}
	return out
}

// answered is the message that reply_to_message shows. In a topic it is the service message that opened it, unless
// the sender chose another.
func (m *message) answered() *message {
	switch {
	case m.elsewhere:
		return nil
	case m.replyTo != 0:
		return m.chat.live(m.replyTo)
	case m.topic && m.thread != m.id:
		return m.chat.live(m.thread)
	}
	return nil
}
