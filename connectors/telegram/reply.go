package telegram

import (
	"cmp"
	"encoding/json"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/connectors"
	"parley/core/chat"
	"parley/core/text"
)

// newerReply holds fields of Message that are newer than Bot API 5.5 and describe the message's reply target.
type newerReply struct {
	ReplyTo struct {
		newerKinds
		Origin  *origin  `json:"forward_origin"`
		Opening *opening `json:"forum_topic_created"` // in a topic, of a message that replies to nothing
	} `json:"reply_to_message"`
	External *externalReply `json:"external_reply"`
	Quote    struct {
		Text string `json:"text"` // the part of the original message that the sender quoted, possibly from another chat
	} `json:"quote"`
	ToStory json.RawMessage `json:"reply_to_story"`
}

// externalReply is a message of another chat that a message replies to. Its files have the names that they have in Message; its text is
// not sent.
type externalReply struct {
	tgbotapi.Message
	newerKinds
	Origin *origin `json:"origin"`
}

// quote adds to in the message that m replies to, with its files: the bot may not have received it.
func (s self) quote(in *chat.Memory, m *tgbotapi.Message, newer *newerReply, topic int) {
	var files []chat.Attachment
	switch r := answered(m, topic); {
	case r != nil:
		author, name := authorOf(r)
		in.Quoted, files = quotation(r, newer.ReplyTo.newerKinds)
		in.Quoted.Name, in.Quoted.Text = name, newer.ReplyTo.Origin.words(author, in.Quoted.Text)
		if r.From != nil && r.From.ID == int64(s.account) {
			in.Quoted.Text = text.Excerpt(in.Quoted.Text, chat.ShortQuote)
		}
	case newer.External != nil:
		in.Quoted, files = quotation(&newer.External.Message, newer.External.newerKinds)
		if on := newer.External; on.Chat != nil && on.Chat.ID == m.Chat.ID && on.MessageID != 0 { // in another topic
			in.InReplyTo = s.memory(on.Chat.ID, on.MessageID)
		}
		if newer.External.Origin != nil {
			_, in.Quoted.Name = newer.External.Origin.first()
		}
	case len(newer.ToStory) > 0:
		in.Quoted.What = "a story"
	default:
		in.Quoted.Text = newer.Quote.Text
		return
	}
	if in.Quoted.Text = cmp.Or(newer.Quote.Text, in.Quoted.Text); in.Quoted.Text == "" {
		in.Quoted.What = cmp.Or(in.Quoted.What, "a message")
	}
	in.Files = append(in.Files, connectors.From(chat.RepliedFile, files)...)
}

// quotation returns the text, the description and the files of a replied-to message.
func quotation(r *tgbotapi.Message, newer newerKinds) (q chat.Quoted, files []chat.Attachment) {
	files = filesOf(r)
	q.Text, _ = said(r)
	if len(files) == 0 {
		q.Text = cmp.Or(q.Text, newer.inWords())
	}
	q.What = connectors.Described(files, length(r))
	return q, files
}

// length returns how long a recording is; 0 for other messages.
func length(m *tgbotapi.Message) time.Duration {
	seconds := 0
	switch {
	case m.Voice != nil:
		seconds = m.Voice.Duration
	case m.Audio != nil:
		seconds = m.Audio.Duration
	case m.Video != nil:
		seconds = m.Video.Duration
	case m.VideoNote != nil:
		seconds = m.VideoNote.Duration
	}
	return time.Duration(max(0, seconds)) * time.Second
}
