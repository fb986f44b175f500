package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"parley/core/chat"
)

// Name is how addresses and the log call this connector, and what all its ids begin with.
const Name = "discord"

func roomID(channel string) chat.RoomID     { return chat.RoomID(Name + "/" + channel) }
func entityID(user string) chat.EntityID    { return chat.EntityID(Name + "/" + user) }
func memoryID(ch, msg string) chat.MemoryID { return chat.MemoryID(Name + "/" + ch + "/" + msg) }

// Types of messages and channels, in Discord's numbers.
const (
	plainMessage = 0
	replyMessage = 19

	voiceChannel  = 2
	announcements = 5
	firstThread   = 10
	lastThread    = 12
	stage         = 13
	forum         = 15
	media         = 16

	replyReference = 0 // others forward
)

// message is what is read of a MESSAGE_CREATE, and of a message fetched later. It is decoded here because the library
// gives up a whole message over one component that it does not know.
type message struct {
	ID        string    `json:"id"`
	Channel   string    `json:"channel_id"`
	Guild     string    `json:"guild_id"` // not in fetched ones
	Type      int       `json:"type"`
	Author    user      `json:"author"`
	Member    *member   `json:"member"`
	Webhook   string    `json:"webhook_id"`
	Content   string    `json:"content"`
	At        time.Time `json:"timestamp"`
	Mentions  []user    `json:"mentions"`
	Reference *struct {
		Type    int    `json:"type"`
		Channel string `json:"channel_id"`
		Message string `json:"message_id"`
	} `json:"message_reference"`
	Referenced *message `json:"referenced_message"`
	Forwarded  []struct {
		Message message `json:"message"`
	} `json:"message_snapshots"`
	Flags       int          `json:"flags"`
	Attachments []attachment `json:"attachments"`
	Stickers    []struct {
		Name string `json:"name"`
	} `json:"sticker_items"`
}

type user struct {
	ID     string  `json:"id"`
	Name   string  `json:"username"`
	Global string  `json:"global_name"`
	Bot    bool    `json:"bot"`
	Member *member `json:"member"` // in mentions
}

type member struct {
	Nick  string   `json:"nick"`
	Roles []string `json:"roles"`
}

// roles are the ids of m's roles, if they are known.
func (m *member) roles() []string {
	if m == nil {
		return nil
	}
	return m.Roles
}

// shown is the name that people see.
func (u user) shown(m *member) string {
	switch {
	case m != nil && m.Nick != "":
		return m.Nick
	case u.Global != "":
		return u.Global
	}
	return u.Name
}

// decode reads an event. A field that is malformed is left out, and the rest of the event counts: only what is no JSON is an
// error. What an event can't do without is checked where it is used.
func decode(raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	if errors.As(err, new(*json.SyntaxError)) {
		return err
	}
	return nil
}

func parseMessage(raw []byte) (message, error) {
	var m message
	if err := decode(raw, &m); err != nil {
		return message{}, fmt.Errorf("read a message: %w", err)
	}
	// These decide who may do what, and where: what they are must be known.
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

// concerns says whether there is anything in m for the gateway: it is not our own, not one of the platform's notices,
// and not empty, as others' messages are without the right to read contents (DR-19).
func (m message) concerns(me string) bool {
	return m.Author.ID != me && (m.Type == plainMessage || m.Type == replyMessage) &&
		(m.content() != "" || len(m.Attachments)+len(m.Stickers) > 0)
}

// place is what is known of a channel.
type place struct {
	kind   chat.RoomKind
	name   string
	parent string // of a thread: its channel
}

// kindOf is the kind of a guild's channel.
func kindOf(channelType int) chat.RoomKind {
	switch {
	case channelType == announcements:
		return chat.Feed
	case channelType >= firstThread && channelType <= lastThread:
		return chat.Thread
	case channelType == voiceChannel, channelType == stage: // what is written beside the talk
		return chat.VoiceGroup
	case channelType == forum, channelType == media:
		return chat.Forum
	}
	return chat.Group
}

// inbound is what m is to the gateway.
func (m message) inbound(me string, p place) chat.Inbound {
	addressed := m.addressed(me)
	text := m.text(me)
	bot := m.Author.Bot || m.Webhook != ""
	own, _ := json.Marshal(address{Channel: m.Channel, Guild: m.Guild, Message: m.ID, Kind: p.kind}) // strings: never fails
	room := chat.Room{ID: roomID(m.Channel), Kind: p.kind, Connector: Name, Name: p.name, Chats: []string{m.Channel}}
	if p.kind == chat.Thread && p.parent != "" { // a thread is listed with its channel
		room.Chats = append(room.Chats, p.parent)
	}
	if m.Guild != "" {
		room.World = worldID(m.Guild)
	}
	in := chat.Message{
		Memory: chat.Memory{
			ID: memoryID(m.Channel, m.ID), Room: room.ID, Author: entityID(m.Author.ID),
			Name: m.Author.shown(m.Member), Text: text, At: m.At, Files: m.files(),
		},
		Place:     room,
		Roles:     m.Member.roles(),
		Addressed: addressed,
		Bot:       bot,
	}
	if in.At.IsZero() {
		in.At = created(m.ID)
	}
	if r := m.Reference; r != nil && r.Type == replyReference && r.Message != "" {
		in.InReplyTo = memoryID(r.Channel, r.Message)
		if q := m.Referenced; q != nil {
			in.Quoted = chat.Quoted{Name: q.Author.shown(q.Member), Text: q.text(me)}
		}
	}
	in.Address = chat.Address{Connector: Name, Room: room.ID, ReplyTo: in.ID, ConnectorData: own}
	return in
}

// addressed says that m mentions us or replies to us: by ids, never by text. @everyone is nobody (IN-14).
func (m message) addressed(me string) bool {
	for _, u := range m.Mentions {
		if u.ID == me {
			return true
		}
	}
	return m.Referenced != nil && m.Referenced.Author.ID == me && m.Reference != nil && m.Reference.Type == replyReference
}

// content is what somebody wrote, or passed on.
func (m message) content() string {
	all := []string{strings.TrimSpace(m.Content)}
	for _, f := range m.Forwarded {
		if text := strings.TrimSpace(f.Message.Content); text != "" {
			all = append(all, "*Forwarded:* "+text)
		}
	}
	return strings.TrimSpace(strings.Join(all, "\n"))
}

var mention = regexp.MustCompile(`<@!?([0-9]+)>`)

// text is the content as people read it: who is mentioned has a name. A mention of us at the beginning only calls us,
// and is left out, unless it is all there is.
func (m message) text(me string) string {
	rest := m.content()
	if rest == "" {
		return m.stickers()
	}
	for {
		at := mention.FindStringSubmatchIndex(rest)
		if at == nil || at[0] != 0 || rest[at[2]:at[3]] != me {
			break
		}
		after := strings.TrimLeft(rest[at[1]:], " \t\r\n,:")
		if after == "" {
			break
		}
		rest = after
	}
	names := map[string]string{}
	for _, u := range m.Mentions {
		names[u.ID] = u.shown(u.Member)
	}
	return mention.ReplaceAllStringFunc(rest, func(found string) string {
		if name := names[mention.FindStringSubmatch(found)[1]]; name != "" {
			return "@" + name
		}
		return found
	})
}

// epoch is when Discord's ids begin, in Unix milliseconds.
const epoch = 1420070400000

// snowflake is an id as a number: the later is the greater. It is 0 if s is none.
func snowflake(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// created is when an id was made.
func created(id string) time.Time { return when(snowflake(id)) }

func when(id uint64) time.Time { return time.UnixMilli(int64(id>>22) + epoch) }

// idAt is the least id of a time.
func idAt(t time.Time) uint64 { return uint64(max(t.UnixMilli()-epoch, 0)) << 22 }
