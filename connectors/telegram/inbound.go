package telegram

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/chat"
)

// update is an update as the library decodes it, plus newer fields that the library lacks: it supports Bot API 5.5.
type update struct {
	tgbotapi.Update
	newer struct {
		Message     *newerMessage       `json:"message"`
		ChannelPost *newerMessage       `json:"channel_post"`
		Edited      *newerMessage       `json:"edited_message"`
		Reactions   *reactions          `json:"message_reaction"`
		Stopped     *stoppedDraft       `json:"stopped_message_generation"`
		Business    *businessConnection `json:"business_connection"`
		Pressed     struct {
			Message newerMessage `json:"message"`
		} `json:"callback_query"`
	}
}

// newerMessage holds fields of Message that are newer than Bot API 5.5.
type newerMessage struct {
	Thread             int            `json:"message_thread_id"`
	Ephemeral          int            `json:"ephemeral_message_id"`
	InTopic            bool           `json:"is_topic_message"`
	SenderBusinessBot  *tgbotapi.User `json:"sender_business_bot"`
	BusinessConnection string         `json:"business_connection_id"`
	GuestQuery         string         `json:"guest_query_id"`
	newerKinds
	Origin *origin `json:"forward_origin"`
	newerReply
	Chat struct {
		Forum bool `json:"is_forum"`
	} `json:"chat"`
	// unknown reports whether the message is in a private chat and is no known service message. parseUpdate sets it.
	unknown bool
	// notice has the words of a service message, if it is one, and noticed the text that it is about. parseUpdate sets them.
	notice, noticed string
}

// self holds what reading messages requires of the bot's own account. username is empty until the poller has looked it
// up, and then it does not change.
type self struct {
	account
	username string
	topics   bool   // users may open topics in their private chats with the bot
	hidden   string // which group messages the bot does not receive, for the owner; empty if it receives all
}

// inbound converts a message to an inbound event, or returns nil if it is to be ignored: service messages and empty
// ones. first maps a chat's id to the id that its room was created with.
//
// Rights follow from the ids of users and chats, never from names. A message in the name of a chat belongs to that
// chat, not to the user who may have written it.
//
// Messages of business connections and guest queries are ignored: they are not ours to answer, and their chat ids can
// collide with those of other chats.
func (s self) inbound(m *tgbotapi.Message, newer *newerMessage, first func(int64) int64) chat.Inbound {
	text, entities := said(m)
	files := filesOf(m)
	if text == "" && len(files) == 0 {
		text = cmp.Or(newer.inWords(), newer.notices(m), newer.unread())
	}
	if m.Chat == nil || text == "" && len(files) == 0 || newer.BusinessConnection != "" || newer.GuestQuery != "" {
		return nil
	}
	topic := topicOf(m, newer)
	author, name := authorOf(m)
	if newer.Origin.foreign(author) {
		files = connectors.From(chat.ForwardedFile, files)
	}
	in := chat.Message{
		Memory: chat.Memory{
			ID: s.memory(m.Chat.ID, m.MessageID), Room: s.room(first(m.Chat.ID), topic), Author: author, Name: name,
			Text: newer.Origin.words(author, viaBot(m, s.asked(text, entities))), At: written(m), Files: files,
		},
		Bot: s.fromBot(m, newer), Locale: locale(m), Remark: newer.notice != "",
		// Telegram sends an album as one message per picture, and splits long texts. The turn policy joins them.
		Group: m.MediaGroupID, MayContinue: utf8.RuneCountInString(m.Text) >= splitFrom,
	}
	if r := answered(m, topic); r != nil {
		in.InReplyTo = s.memory(m.Chat.ID, r.MessageID)
	}
	s.quote(&in.Memory, m, &newer.newerReply, topic)
	if pinned := m.PinnedMessage; pinned != nil {
		in.InReplyTo, in.Quoted = s.memory(m.Chat.ID, pinned.MessageID), chat.Quoted{Text: newer.noticed, What: "a message"}
	}
	in.Place, in.WorldName = s.place(m.Chat, topic, newer.Chat.Forum, first), m.Chat.Title
	in.Addressed = s.addressed(m, topic)
	in.Address = chat.Address{
		Connector: Name, Room: in.Room, ReplyTo: in.ID,
		ConnectorData: address{Chat: m.Chat.ID, Topic: topic, Message: m.MessageID, Kind: m.Chat.Type, Asker: asker(m)}.encode(),
	}
	if begun := newer.ReplyTo.Opening; topic != 0 && begun != nil {
		in.Address.Untitled = begun.untitled()
		if m.Chat.Type != private {
			in.Place.Name = begun.Name
		}
	}
	if newer.Ephemeral != 0 && m.From != nil {
		in = s.whispered(in, m, newer.Ephemeral)
	}
	return in
}

// asker returns the username of the message's sender, or "". It is the only name that an answer may mention.
func asker(m *tgbotapi.Message) string {
	if m.SenderChat != nil || m.From == nil {
		return ""
	}
	return m.From.UserName
}

// locale returns the language of the sender's client, or "".
func locale(m *tgbotapi.Message) string {
	if m.SenderChat != nil {
		return ""
	}
	return languageOf(m.From)
}

// languageOf returns the language of a user's client, or "".
func languageOf(u *tgbotapi.User) string {
	if u == nil {
		return ""
	}
	return u.LanguageCode
}

// written returns the message's date, or the current time if the server sent none.
func written(m *tgbotapi.Message) time.Time {
	if m.Date == 0 {
		return time.Now().UTC()
	}
	return time.Unix(int64(m.Date), 0).UTC()
}

// splitFrom is the minimum length of a text that may continue in another message: clients split texts longer than 4096
// characters at a good place in the second half.
const splitFrom = 2048

// chats returns the ids of a chat: an allowlist may contain the id from before the group moved.
func chats(now, first int64) []string {
	all := []string{strconv.FormatInt(now, 10)}
	if first != now {
		all = append(all, strconv.FormatInt(first, 10))
	}
	return all
}

// said returns the text of a message, or the caption of a picture or file, and its entities, which carry mentions and
// formatting. Other content becomes words, without entities.
func said(m *tgbotapi.Message) (string, []tgbotapi.MessageEntity) {
	if m.Text != "" {
		return m.Text, m.Entities
	}
	if words := inWords(m); words != "" {
		return words, nil
	}
	return m.Caption, m.CaptionEntities
}

// topicOf returns the message's topic; 0 is none. Outside forums message_thread_id numbers reply chains instead, and a
// forum's General is addressed by omitting the topic. Private chats have topics too, but no General.
func topicOf(m *tgbotapi.Message, newer *newerMessage) int {
	const general = 1
	if !newer.InTopic || newer.Thread == general && m.Chat.Type != private {
		return 0
	}
	return newer.Thread
}

// place returns the room of a chat or topic. Its id contains the chat's first id, so that the room survives a move.
func (a account) place(c *tgbotapi.Chat, topic int, forum bool, first func(int64) int64) chat.Room {
	return chat.Room{
		ID: a.room(first(c.ID), topic), World: a.world(c, first).ID, Kind: roomKind(c.Type, topic, forum), Connector: Name,
		Name: placeName(c), Chats: chats(c.ID, first(c.ID)),
	}
}

// roomKind returns the kind of a room. A forum's General counts as the forum itself.
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

// placeName returns the title of a group or channel, or the name of a private chat's user.
func placeName(c *tgbotapi.Chat) string {
	if c.Title != "" {
		return c.Title
	}
	return fullName(c.FirstName, c.LastName, c.UserName)
}

// fullName returns a user's display name, or the username without one.
func fullName(first, last, username string) string {
	if name := strings.TrimSpace(first + " " + last); name != "" {
		return name
	}
	return username
}

// authorOf returns the author's id and name. A chat that writes in its own name is its own author.
func authorOf(m *tgbotapi.Message) (chat.EntityID, string) {
	switch {
	case m.SenderChat != nil:
		return entity(m.SenderChat.ID), placeName(m.SenderChat)
	case m.From != nil:
		return entity(m.From.ID), fullName(m.From.FirstName, m.From.LastName, m.From.UserName)
	}
	return entity(m.Chat.ID), placeName(m.Chat)
}

// fromBot reports whether no person can be held responsible for m: messages of bots (including our own), inline
// results, echoes of business accounts, and messages in the name of another chat, because bots can post that way
// too. Without this, two bots could answer each other without end. An administrator who hides behind the group counts
// as a person, whose rights are those of the group: an answer never addresses one of those, since it names no account.
func (s self) fromBot(m *tgbotapi.Message, newer *newerMessage) bool {
	if m.ViaBot != nil || newer.SenderBusinessBot != nil || m.IsAutomaticForward || m.Chat.Type == channel || m.From == nil {
		return true
	}
	if m.SenderChat != nil {
		return m.SenderChat.ID != m.Chat.ID || m.From.ID != anonymousAdmin
	}
	return m.From.IsBot || m.From.ID == int64(s.account)
}

// anonymousAdmin is the account that Telegram names as the sender of what administrators write in the name of their group.
const anonymousAdmin = 1087968824

// answered returns the message that m replies to. In a topic, a message that replies to nothing refers to the topic's
// first message; that is not a reply.
func answered(m *tgbotapi.Message, topic int) *tgbotapi.Message {
	if r := m.ReplyToMessage; r != nil && r.Chat != nil && r.MessageID != 0 && (topic == 0 || r.MessageID != topic) {
		return r
	}
	return nil
}

// asked returns the text of m. If it begins with a command addressed to the bot (/help@bot, or @bot /help), the bot's
// name is removed, so that commands look the same on all platforms. Other mentions stay: they are part of the sentence.
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
