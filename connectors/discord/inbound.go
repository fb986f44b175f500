package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"parley/connectors"
	"parley/core/chat"
)

// Name identifies this connector in addresses and logs, and is the prefix of all its ids.
const Name = "discord"

func roomID(channel string) chat.RoomID     { return chat.RoomID(Name + "/" + channel) }
func entityID(user string) chat.EntityID    { return chat.EntityID(Name + "/" + user) }
func memoryID(ch, msg string) chat.MemoryID { return chat.MemoryID(Name + "/" + ch + "/" + msg) }

// Discord's numbers for types of messages and channels.
const (
	plainMessage = 0
	pinMessage   = 6 // refers to a pinned message
	replyMessage = 19

	voiceChannel  = 2
	announcements = 5
	firstThread   = 10
	lastThread    = 12
	stage         = 13
	forum         = 15
	media         = 16

	replyReference = 0 // the other types are forwards
)

// message holds the fields that are read of a MESSAGE_CREATE and of a fetched message. It is decoded here because the
// library rejects a whole message over one unknown component. Everything in it was written by others: ids are checked
// where they are used, and absent fields are zero.
type message struct {
	ID         string            `json:"id"`
	Channel    string            `json:"channel_id"`
	Guild      string            `json:"guild_id"` // missing in fetched messages
	Type       int               `json:"type"`
	Author     user              `json:"author"`
	Member     *member           `json:"member"`
	Webhook    string            `json:"webhook_id"`
	Content    string            `json:"content"`
	At         time.Time         `json:"timestamp"`
	Mentions   []user            `json:"mentions"`
	Roles      []string          `json:"mention_roles"`
	Reference  *messageReference `json:"message_reference"`
	Referenced *message          `json:"referenced_message"`
	Forwarded  []struct {
		Message message `json:"message"`
	} `json:"message_snapshots"`
	Flags       int          `json:"flags"`
	Attachments []attachment `json:"attachments"`
	Stickers    []struct {
		Name string `json:"name"`
	} `json:"sticker_items"`
	Embeds []embed `json:"embeds"`
	Poll   *poll   `json:"poll"`

	ownRole role // the bot's own role, if the message mentions it; looked up when it is delivered
}

// messageReference names the message that another one replies to or forwards.
type messageReference struct {
	Type    int    `json:"type"`
	Channel string `json:"channel_id"`
	Message string `json:"message_id"`
}

// user is an account. A webhook's id is that of the webhook.
type user struct {
	ID     string  `json:"id"`
	Name   string  `json:"username"`
	Global string  `json:"global_name"`
	Bot    bool    `json:"bot"`
	Member *member `json:"member"` // only in mentions
}

// member contains a server's data about an account. Messages contain it, except fetched ones.
type member struct {
	Nick  string   `json:"nick"`
	Roles []string `json:"roles"`
}

// roles returns the ids of m's roles, if known.
func (m *member) roles() []string {
	if m == nil {
		return nil
	}
	return m.Roles
}

// shown returns the user's display name: the server's nickname, then the account's display name, then its unique name.
func (u user) shown(m *member) string {
	switch {
	case m != nil && m.Nick != "":
		return m.Nick
	case u.Global != "":
		return u.Global
	}
	return u.Name
}

// decode reads an event. A malformed field is left out and the rest is kept, because one new form in a part that
// doesn't matter must not cost a message; only invalid JSON is an error. Required fields are checked where they are
// used.
func decode(raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	if errors.As(err, new(*json.SyntaxError)) {
		return err
	}
	return nil
}

// parseMessage reads a message, which has the ids of itself, its channel and its author.
func parseMessage(raw []byte) (message, error) {
	var m message
	if err := decode(raw, &m); err != nil {
		return message{}, fmt.Errorf("read a message: %w", err)
	}
	// The rights of a message depend on these fields. If one of them is malformed, decode would leave it empty, so that
	// a bot's message would look like a person's, or a server's like a direct one. So here it is an error.
	var decisive struct {
		Type    int    `json:"type"`
		Guild   string `json:"guild_id"`
		Webhook string `json:"webhook_id"`
		Author  struct {
			Bot bool `json:"bot"`
		} `json:"author"`
	}
	if err := json.Unmarshal(raw, &decisive); err != nil {
		return message{}, fmt.Errorf("read a message: %w", err)
	}
	if snowflake(m.ID) == 0 || snowflake(m.Channel) == 0 || snowflake(m.Author.ID) == 0 {
		return message{}, fmt.Errorf("read a message: no ids in it")
	}
	return m, nil
}

// concerns reports whether m is for the gateway. It is not if it is our own, a system message, or empty, as others'
// messages are without the Message Content intent. In a direct chat even an empty one is answered.
func (m message) concerns(me string) bool {
	return m.Author.ID != me && (m.Type == plainMessage || m.Type == replyMessage || m.Type == pinMessage) &&
		(m.Guild == "" && !m.automatic() || m.content() != "" || len(m.files()) > 0)
}

// automatic reports whether no person has written m.
func (m message) automatic() bool { return m.Author.Bot || m.Webhook != "" }

// place describes a channel, with what messages don't say about it.
type place struct {
	kind   chat.RoomKind
	name   string
	locale string            // of its server; empty if it is unknown
	parent string            // a thread's channel
	owner  string            // who has opened a thread
	tags   map[string]string // of a forum: the names of its tags, by their ids
}

// kindOf returns the kind of a guild's channel.
func kindOf(channelType int) chat.RoomKind {
	switch {
	case channelType == announcements:
		return chat.Feed
	case channelType >= firstThread && channelType <= lastThread:
		return chat.Thread
	case channelType == voiceChannel, channelType == stage: // the text chat of a voice channel
		return chat.VoiceGroup
	case channelType == forum, channelType == media:
		return chat.Forum
	}
	return chat.Group
}

// inbound converts m to an inbound event. me is the bot's own id, p the channel of m.
//
// Rights follow from the ids of the author and its roles, never from names or the text. A fetched message has no roles,
// so it gets the rights of its author alone.
func (m message) inbound(me string, p place) chat.Message {
	addressed := m.addressed(me) || p.kind == chat.Thread && p.owner == me && !m.toAnother()
	text := m.text(me)
	files := m.files()
	if text == "" && len(files) == 0 {
		text = connectors.Unreadable
	}
	to := address{Channel: m.Channel, Guild: m.Guild, Message: m.ID, Kind: p.kind}
	room := chat.Room{ID: roomID(m.Channel), Kind: p.kind, Connector: Name, Name: p.name, Chats: []string{m.Channel}}
	if p.kind == chat.Thread && p.parent != "" { // a thread is listed under its channel
		room.Chats, to.Parent = append(room.Chats, p.parent), p.parent
	}
	if m.Guild != "" {
		room.World = worldID(m.Guild)
	}
	in := chat.Message{
		Memory: chat.Memory{
			ID: memoryID(m.Channel, m.ID), Room: room.ID, Author: entityID(m.Author.ID),
			Name: m.Author.shown(m.Member), Text: text, At: m.At, Files: files,
		},
		Place:     room,
		Roles:     m.Member.roles(),
		Addressed: addressed,
		Bot:       m.automatic(), PlaceLocale: p.locale,
		Remark: m.Type == pinMessage,
	}
	// A malformed time was left out. The id contains it too.
	if in.At.IsZero() {
		in.At = created(m.ID)
	}
	if r := m.Reference; r != nil && r.Type == replyReference && r.Message != "" {
		in.InReplyTo = memoryID(r.Channel, r.Message)
		if m.Referenced.quoteIn(&in.Memory, me); in.Remark && m.Referenced == nil {
			in.Quoted.What = "a message" // Discord names it, without its content
		}
	}
	in.Address = chat.Address{Connector: Name, Room: room.ID, ReplyTo: in.ID, ConnectorData: to.encode(), Ephemeral: m.Guild != ""}
	return in
}

// mentions reports whether m mentions the bot's account or its own role.
func (m message) mentions(me string) bool {
	return slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == me }) || m.ownRole.ID != "" && slices.Contains(m.Roles, m.ownRole.ID)
}

// toAnother reports whether a message that does not address the bot mentions others, or replies to one.
func (m message) toAnother() bool { return len(m.Mentions)+len(m.Roles) > 0 || m.Reference != nil }

// addressed reports whether m mentions the bot or replies to it. It compares ids, never text, because anyone can choose
// a name or write a mention code in a code block; @everyone does not address the bot.
func (m message) addressed(me string) bool {
	return m.mentions(me) || m.repliesTo(me)
}

// repliesTo reports whether m replies to a message of an account.
func (m message) repliesTo(account string) bool {
	return m.Referenced != nil && m.Referenced.Author.ID == account && m.Reference != nil && m.Reference.Type == replyReference
}

// epoch is the zero time of Discord's ids, in Unix milliseconds.
const epoch = 1420070400000

// snowflake converts an id to a number; later ids are greater. It returns 0 for an invalid id, which no object has. It
// therefore also serves as the check of ids from outside before they become part of a path.
func snowflake(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// created returns the creation time of an id.
func created(id string) time.Time { return when(snowflake(id)) }

// when returns the creation time of an id, which its upper 42 bits contain.
func when(id uint64) time.Time { return time.UnixMilli(int64(id>>22) + epoch) }

// idAt returns the smallest id of a time.
func idAt(t time.Time) uint64 { return uint64(max(t.UnixMilli()-epoch, 0)) << 22 }
