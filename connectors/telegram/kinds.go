package telegram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/chat"
	"parley/core/text"
)

// inWords describes for the model a message that is neither text nor a file. It returns "" for a service message, which
// is no part of the conversation. A venue also has a location, so it comes first.
func inWords(m *tgbotapi.Message) string {
	switch {
	case m.Sticker != nil:
		return sticker(m.Sticker)
	case m.Venue != nil:
		return fmt.Sprintf("*Place: %s, %s (%s)*", m.Venue.Title, m.Venue.Address, coordinates(m.Venue.Location))
	case m.Location != nil:
		return "*Location: " + coordinates(*m.Location) + "*"
	case m.Contact != nil:
		return fmt.Sprintf("*Contact: %s, %s*", fullName(m.Contact.FirstName, m.Contact.LastName, "no name"), m.Contact.PhoneNumber)
	case m.Dice != nil:
		return fmt.Sprintf("*%s rolled: %d*", m.Dice.Emoji, m.Dice.Value)
	case m.Poll != nil:
		var options []string
		for _, o := range m.Poll.Options {
			options = append(options, o.Text)
		}
		return connectors.Poll(m.Poll.Question, options)
	case m.Game != nil:
		return "*Game: " + m.Game.Title + "*"
	case m.Invoice != nil:
		return "*Invoice: " + m.Invoice.Title + "*"
	}
	return ""
}

func coordinates(l tgbotapi.Location) string {
	return fmt.Sprintf("latitude %.6g, longitude %.6g", l.Latitude, l.Longitude)
}

// newerKinds are the message kinds added after Bot API 5.5. Only their text is read.
type newerKinds struct {
	Story     json.RawMessage `json:"story"`
	Giveaway  json.RawMessage `json:"giveaway"`
	Winners   json.RawMessage `json:"giveaway_winners"`
	PaidMedia json.RawMessage `json:"paid_media"`
	Checklist *struct {
		Title string `json:"title"`
		Tasks []struct {
			Text string `json:"text"`
		} `json:"tasks"`
	} `json:"checklist"`
	Gift   *gift           `json:"gift"`
	Unique *gift           `json:"unique_gift"`
	Sent   json.RawMessage `json:"gift_upgrade_sent"`
	Rich   *richFields     `json:"rich_message"`
}

// inWords is the same for the newer kinds.
func (k newerKinds) inWords() string {
	switch {
	case k.Checklist != nil:
		words := "*Checklist: " + k.Checklist.Title
		for _, t := range k.Checklist.Tasks {
			words += "; " + t.Text
		}
		return words + "*"
	case len(k.Story) > 0:
		return "*Story (bots can't see its content)*"
	case len(k.Giveaway)+len(k.Winners) > 0:
		return "*Giveaway*"
	case k.Gift != nil || k.Unique != nil:
		return strings.TrimSpace("*Gift* " + cmp.Or(k.Gift, k.Unique).Text)
	case len(k.Sent) > 0:
		return "*Gift*"
	case len(k.PaidMedia) > 0:
		return "*Paid media (bots can't see it)*"
	case k.Rich != nil:
		return richWords(map[string]any(*k.Rich), "")
	}
	return ""
}

// richFields is a RichMessage (Bot API 10.2): such messages have no text. Users forward them, and reply to them.
type richFields map[string]any

// richWords returns the visible text of a RichMessage, or of something in it: a RichText, a block, a list's item, or a list of these with
// sep between them. The cells of a row are in one line.
func richWords(v any, sep string) string {
	var words []string
	add := func(v any, sep string) {
		if s := richWords(v, sep); s != "" {
			words = append(words, s)
		}
	}
	switch v := v.(type) {
	case string:
		return v
	case []any:
		for _, one := range v {
			add(one, map[bool]string{true: " | "}[sep == "\n"])
		}
	case map[string]any:
		for _, name := range []string{"summary", "text", "expression", "alternative_text", "blocks", "items", "cells", "caption", "credit"} {
			add(v[name], map[string]string{"blocks": "\n", "items": "\n", "cells": "\n"}[name])
		}
		label, _ := v["label"].(string)
		return strings.TrimLeft(label+" "+strings.Join(words, "\n"), " ")
	}
	return strings.Join(words, sep)
}

// gift is a present to the bot, with the sender's words.
type gift struct {
	Text string `json:"text"`
}

// notices returns the words of a service message, or "".
func (n *newerMessage) notices(m *tgbotapi.Message) string {
	switch {
	case n.notice == "":
		return ""
	case n.noticed == "" || m.PinnedMessage != nil: // words of another author, which are quoted
		return "*" + n.notice + "*"
	}
	return text.Passed(n.notice, n.noticed)
}

// unread stands for a message of a kind that is not known here; "" for a known one, and in groups.
func (n *newerMessage) unread() string {
	if n.unknown {
		return connectors.Unreadable
	}
	return ""
}

// notices are the fields that make a message a service message: it tells of something that a user did, and says nothing to the bot. They
// are remembered with these words; those without words
// concern the program or the platform alone, or are told otherwise, such as members.
var notices = []struct{ field, words string }{ // never changed
	{"new_chat_members", ""},
	{"left_chat_member", ""},
	{"chat_owner_left", "The chat's owner left"},
	{"chat_owner_changed", "The chat has a new owner"},
	{"new_chat_title", "Renamed the chat"},
	{"new_chat_photo", "Changed the chat's picture"},
	{"delete_chat_photo", "Removed the chat's picture"},
	{"group_chat_created", "Created the group"},
	{"supergroup_chat_created", ""},
	{"channel_chat_created", ""},
	{"message_auto_delete_timer_changed", "Changed when messages are deleted"},
	{"migrate_to_chat_id", ""},
	{"migrate_from_chat_id", ""},
	{"pinned_message", "Pinned a message"},
	{"successful_payment", "Paid"},
	{"refunded_payment", "Got a payment back"},
	{"connected_website", "Logged in to a website"},
	{"write_access_allowed", ""},
	{"passport_data", ""},
	{"proximity_alert_triggered", "Came near another user"},
	{"boost_added", "Boosted the chat"},
	{"chat_background_set", "Changed the chat's background"},
	{"checklist_tasks_done", "Marked tasks of a checklist"},
	{"checklist_tasks_added", "Added tasks to a checklist"},
	{"direct_message_price_changed", ""},
	{"paid_message_price_changed", ""},
	{"forum_topic_created", ""},
	{"forum_topic_edited", "Renamed the topic"},
	{"forum_topic_closed", "Closed the topic"},
	{"forum_topic_reopened", "Reopened the topic"},
	{"general_forum_topic_hidden", ""},
	{"general_forum_topic_unhidden", ""},
	{"giveaway_created", "Started a giveaway"},
	{"giveaway_completed", "Ended a giveaway"},
	{"managed_bot_created", ""},
	{"poll_option_added", "Added an option to a poll"},
	{"poll_option_deleted", "Removed an option of a poll"},
	{"suggested_post_approved", ""},
	{"suggested_post_approval_failed", ""},
	{"suggested_post_declined", ""},
	{"suggested_post_paid", ""},
	{"suggested_post_refunded", ""},
	{"video_chat_scheduled", "Scheduled a video chat"},
	{"video_chat_started", "Started a video chat"},
	{"video_chat_ended", "Ended the video chat"},
	{"video_chat_participants_invited", "Invited to the video chat"},
	{"community_chat_added", ""},
	{"community_chat_joined", ""},
	{"community_chat_removed", ""},
}

// notice returns the words for the first of the fields of a message that is such a field, and the name or text in it. ok is false if none is.
func notice(fields map[string]json.RawMessage) (words, about string, ok bool) {
	for _, n := range notices {
		if raw := fields[n.field]; len(raw) > 0 {
			return n.words, aboutNotice(raw), true
		}
	}
	return "", "", false
}

// aboutNotice returns the text in the value of a service message: a string, or the names or texts of one object or of several.
func aboutNotice(raw json.RawMessage) string {
	var s string
	var several []json.RawMessage
	var one struct {
		Text, Caption, Name, Title string
		First                      string     `json:"first_name"`
		Rich                       richFields `json:"rich_message"`
	}
	if json.Unmarshal(raw, &several) == nil {
		var all []string
		for _, r := range several {
			all = append(all, aboutNotice(r))
		}
		return strings.Join(all, ", ")
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	_ = json.Unmarshal(raw, &one) // a malformed field is left out
	return cmp.Or(one.Text, one.Caption, one.Name, one.Title, one.First, richWords(map[string]any(one.Rich), ""))
}

// origin tells who said a forwarded message first (MessageOrigin, Bot API 7.0): a user, a user who hides their account,
// a group that an administrator wrote for, or a channel.
type origin struct {
	User   *tgbotapi.User `json:"sender_user"`
	Hidden string         `json:"sender_user_name"`
	Group  *tgbotapi.Chat `json:"sender_chat"`
	Feed   *tgbotapi.Chat `json:"chat"`
}

// words returns the text of a message that author has sent, which says whose words it is if it is forwarded.
func (o *origin) words(author chat.EntityID, said string) string {
	if said == "" || !o.foreign(author) {
		return said
	}
	_, name := o.first()
	return text.Forwarded(name, said)
}

// foreign reports whether author forwards a message. A user's forwarded own message counts as the user's words, and o
// is nil if nothing is forwarded.
func (o *origin) foreign(author chat.EntityID) bool {
	if o == nil {
		return false
	}
	first, _ := o.first()
	return first != author
}

// first returns who said it first, as far as that is known.
func (o *origin) first() (id chat.EntityID, name string) {
	switch c := cmp.Or(o.Group, o.Feed); {
	case c != nil:
		return entity(c.ID), placeName(c)
	case o.User != nil:
		return entity(o.User.ID), fullName(o.User.FirstName, o.User.LastName, o.User.UserName)
	}
	return "", o.Hidden
}

// viaBot returns the text of m, marked if an inline bot wrote it in the name of the sender.
func viaBot(m *tgbotapi.Message, said string) string {
	if m.ViaBot == nil || said == "" {
		return said
	}
	return text.Forwarded(fullName(m.ViaBot.FirstName, m.ViaBot.LastName, m.ViaBot.UserName), said)
}
