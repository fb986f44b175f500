package telegram

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core/chat"
)

// update is one update as the library knows it, and what it is too old to know.
type update struct {
	tgbotapi.Update
	newer struct {
		Message     *newerMessage `json:"message"`
		ChannelPost *newerMessage `json:"channel_post"`
		Edited      *newerMessage `json:"edited_message"`
		Reactions   *reactions    `json:"message_reaction"`
		Pressed     struct {
			Message newerMessage `json:"message"`
		} `json:"callback_query"`
	}
}

// newerMessage are fields of Message after Bot API 5.5.
type newerMessage struct {
	Thread             int            `json:"message_thread_id"`
	InTopic            bool           `json:"is_topic_message"`
	SenderBusinessBot  *tgbotapi.User `json:"sender_business_bot"`
	BusinessConnection string         `json:"business_connection_id"`
	GuestQuery         string         `json:"guest_query_id"`
	newerKinds
	Quote struct {
		Text string `json:"text"` // the part of the message replied to that somebody chose, be it in another chat
	} `json:"quote"`
	Chat struct {
		Forum bool `json:"is_forum"`
	} `json:"chat"`
}

// self is what we need to know of our own account to read messages.
type self struct {
	account
	username string
}

// inbound says what a message is to the gateway; nil if it is nothing. first is the id of the chat under which its room
// was opened.
//
// Messages of business connections and guest queries are not ours to answer here, and their chat ids may be those of
// other chats (TR-29): they are left out.
func (s self) inbound(m *tgbotapi.Message, newer *newerMessage, first func(int64) int64) chat.Inbound {
	text, entities := said(m)
	files := filesOf(m)
	if text == "" && len(files) == 0 {
		text = newer.inWords()
	}
	if m.Chat == nil || text == "" && len(files) == 0 || newer.BusinessConnection != "" || newer.GuestQuery != "" {
		return nil
	}
	topic := topicOf(m, newer)
	author, name := authorOf(m)
	in := chat.Message{
		Memory: chat.Memory{
			ID: s.memory(m.Chat.ID, m.MessageID), Room: s.room(first(m.Chat.ID), topic), Author: author, Name: name,
			Text: s.asked(text, entities), At: written(m), Files: files,
		},
		Bot:   s.fromBot(m, newer),
		Group: m.MediaGroupID, MayContinue: utf8.RuneCountInString(m.Text) >= splitFrom,
	}
	if r := answered(m, topic); r != nil {
		in.InReplyTo = s.memory(m.Chat.ID, r.MessageID)
		in.Quoted.Text, _ = said(r)
		_, in.Quoted.Name = authorOf(r)
	}
	in.Quoted.Text = cmp.Or(newer.Quote.Text, in.Quoted.Text)
	in.Place, in.WorldName = s.place(m.Chat, topic, newer.Chat.Forum, first), m.Chat.Title
	in.Addressed = s.addressed(m, topic)
	in.Address = chat.Address{
		Connector: Name, Room: in.Room, ReplyTo: in.ID,
		ConnectorData: address{Chat: m.Chat.ID, Topic: topic, Message: m.MessageID, Kind: m.Chat.Type, Asker: asker(m)}.encode(),
	}
	return in
}

// asker returns the username of the person who wrote m, if there is one.
func asker(m *tgbotapi.Message) string {
	if m.SenderChat != nil || m.From == nil {
		return ""
	}
	return m.From.UserName
}

// written returns when m was written, as far as the server says so.
func written(m *tgbotapi.Message) time.Time {
	if m.Date == 0 {
		return time.Now().UTC()
	}
	return time.Unix(int64(m.Date), 0).UTC()
}

// splitFrom is the least length of a text that may go on: apps cut what is longer than 4096 at a good place in the second
// half of that (TR-26).
const splitFrom = 2048

// chats are the ids of a chat: people may have listed the one from before it moved (TR-24).
func chats(now, first int64) []string {
	all := []string{strconv.FormatInt(now, 10)}
	if first != now {
		all = append(all, strconv.FormatInt(first, 10))
	}
	return all
}

// said is what somebody wrote: the text, or what stands below a picture or file.
func said(m *tgbotapi.Message) (string, []tgbotapi.MessageEntity) {
	if m.Text != "" {
		return m.Text, m.Entities
	}
	if words := inWords(m); words != "" {
		return words, nil
	}
	return m.Caption, m.CaptionEntities
}

// topicOf is the topic that a message stands in. Elsewhere message_thread_id counts replies, and a forum's General is
// named by leaving the topic out (TR-25).
func topicOf(m *tgbotapi.Message, newer *newerMessage) int {
	const general = 1
	if !newer.InTopic || newer.Thread == general && m.Chat.Type != private {
		return 0
	}
	return newer.Thread
}

// place is a chat, or a topic of it.
func (a account) place(c *tgbotapi.Chat, topic int, forum bool, first func(int64) int64) chat.Room {
	return chat.Room{
		ID: a.room(first(c.ID), topic), World: a.world(c, first).ID, Kind: roomKind(c.Type, topic, forum), Connector: Name,
		Name: placeName(c), Chats: chats(c.ID, first(c.ID)),
	}
}

// roomKind takes a forum's General for the forum.
func roomKind(room string, topic int, forum bool) chat.RoomKind {
	switch {
	case room == private:
		return chat.Direct
	case room == channel:
		return chat.Feed
	case topic != 0:
		return chat.Thread
	case forum:
		return chat.Forum
	}
	return chat.Group
}

func placeName(c *tgbotapi.Chat) string {
	if c.Title != "" {
		return c.Title
	}
	return fullName(c.FirstName, c.LastName, c.UserName)
}

func fullName(first, last, username string) string {
	if name := strings.TrimSpace(first + " " + last); name != "" {
		return name
	}
	return username
}

// authorOf is who wrote: a chat that writes in its own name is its own author.
func authorOf(m *tgbotapi.Message) (chat.EntityID, string) {
	switch {
	case m.SenderChat != nil:
		return entity(m.SenderChat.ID), placeName(m.SenderChat)
	case m.From != nil:
		return entity(m.From.ID), fullName(m.From.FirstName, m.From.LastName, m.From.UserName)
	}
	return entity(m.Chat.ID), placeName(m.Chat)
}

// fromBot says that no person can be held to have written m (TR-28): bots, ourselves among them, inline results,
// echoes of business accounts, and whatever is posted in the name of a chat, which bots do too.
func (s self) fromBot(m *tgbotapi.Message, newer *newerMessage) bool {
	return m.From == nil || m.From.IsBot || m.From.ID == int64(s.account) || m.ViaBot != nil ||
		newer.SenderBusinessBot != nil || m.SenderChat != nil || m.IsAutomaticForward || m.Chat.Type == channel
}

// answered is the message that m replies to. In a topic, what opened it is named where nobody chose a message.
func answered(m *tgbotapi.Message, topic int) *tgbotapi.Message {
	if r := m.ReplyToMessage; r != nil && r.Chat != nil && r.MessageID != 0 && (topic == 0 || r.MessageID != topic) {
		return r
	}
	return nil
}

// asked is the text of m. A command at its beginning that names us, before it or in it, is one without our name.
func (s self) asked(text string, entities []tgbotapi.MessageEntity) string {
	for _, e := range entities {
		if e.Offset != 0 || !s.named(text, e) {
			continue
		}
		word := entityText(text, e)
		rest := strings.TrimPrefix(text, word)
		switch name, _, _ := strings.Cut(word, "@"); {
		case e.Type == "bot_command":
			return name + rest
		case strings.HasPrefix(strings.TrimSpace(rest), "/"):
			return strings.TrimSpace(rest)
		}
	}
	return text
}
