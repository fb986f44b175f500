package discordfake

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf16"
)

const (
	// maxContent is the length of a text. The unit is not documented;
	// UTF-16 units are counted because that is never too few (DR-07).
	maxContent = 2000

	createFlags = FlagSuppressEmbeds | FlagSuppressNotifications | 1<<15
	editFlags   = FlagSuppressEmbeds | 1<<15
)

// createForm is the body of a create; what the fake does not play must be
// empty.
type createForm struct {
	Content         *string          `json:"content"`
	TTS             *bool            `json:"tts"`
	Flags           *int             `json:"flags"`
	Nonce           json.RawMessage  `json:"nonce"`
	EnforceNonce    *bool            `json:"enforce_nonce"`
	AllowedMentions *allowedMentions `json:"allowed_mentions"`
	Reference       *referenceForm   `json:"message_reference"`
	Embeds          json.RawMessage  `json:"embeds"`
	Components      json.RawMessage  `json:"components"`
	StickerIDs      []string         `json:"sticker_ids"`
	Attachments     []attachmentForm `json:"attachments"`
	Poll            any              `json:"poll"`
}

type referenceForm struct {
	MessageID       string `json:"message_id"`
	ChannelID       string `json:"channel_id"`
	GuildID         string `json:"guild_id"`
	FailIfNotExists *bool  `json:"fail_if_not_exists"`
	Type            *int   `json:"type"`
}

// check takes further flags that the route allows.
func (f *createForm) check(further int) *apiError {
	if len(f.StickerIDs) > 0 || f.Poll != nil {
		return notModelled("stickers and polls")
	}
	if f.Flags != nil && *f.Flags&^(createFlags|further) != 0 {
		return invalidForm("flags", "MESSAGE_FLAGS_INVALID", "a flag that cannot be set")
	}
	return f.AllowedMentions.check()
}

func (s *Server) createMessage(c *call) (int, any, *apiError) {
	var form createForm
	if e := decode(c.body, &form); e != nil {
		return 0, nil, e
	}
	if e := form.check(0); e != nil {
		return 0, nil, e
	}
	if e := checkAttachments(form.Attachments, c.files); e != nil {
		return 0, nil, e
	}
	nonce, e := parseNonce(form.Nonce)
	if e != nil {
		return 0, nil, e
	}
	ch, e := s.writable(c)
	if e != nil {
		return 0, nil, e
	}
	now := time.Now()
	if form.EnforceNonce != nil && *form.EnforceNonce {
		m, e := s.nonces.earlier(nonce, s.opts.nonceWindow, now)
		switch {
		case e != nil:
			return 0, nil, e
		case m != nil:
			c.entry.Repeated, c.entry.Message = true, m.id
			return http.StatusOK, s.createdObject(m), nil
		}
	}
	m, e := s.draft(ch, &form, c.files, now)
	if e != nil {
		return 0, nil, e
	}
	s.nonces.remember(nonce, m, now)
	s.post(m)
	s.notePings(m, mentions{}, false)
	if m.flags&FlagSuppressNotifications == 0 {
		s.journal.notified = append(s.journal.notified, m)
	}
	c.entry.Message = m.id
	return http.StatusOK, s.createdObject(m), nil
}

// draft makes the bot's message out of a form, not yet posted.
func (s *Server) draft(ch *channel, form *createForm, files []Attachment, now time.Time) (*message, *apiError) {
	m := &message{channel: ch, author: s.bot, embeds: form.Embeds, components: form.Components, attachments: s.receive(files)}
	if string(form.Nonce) != "null" {
		m.nonce = form.Nonce
	}
	text := ""
	if form.Content != nil {
		text = *form.Content
	}
	text, e := s.acceptText(text, m)
	if e != nil {
		return nil, e
	}
	var replied *user
	if m.reply, replied, e = s.resolveReply(ch, form.Reference); e != nil {
		return nil, e
	}
	if form.Flags != nil {
		m.flags = *form.Flags
	}
	m.versions = []Version{{At: now, Content: text, Flags: m.flags, Attachments: m.attachments}}
	m.mentions = s.mentionsOf(ch, text, form.AllowedMentions, replied)
	return m, nil
}

// acceptText returns a text as Discord keeps it, without space at its ends.
func (s *Server) acceptText(text string, m *message) (string, *apiError) {
	if len(utf16.Encode([]rune(text))) > maxContent {
		return "", invalidForm("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
	}
	text = strings.TrimSpace(text)
	if text == "" && len(m.attachments) == 0 && string(orEmpty(m.embeds)) == "[]" && string(orEmpty(m.components)) == "[]" {
		return "", emptyMessage()
	}
	for _, word := range s.rules.blockedWords {
		if strings.Contains(text, word) {
			return "", refuse(http.StatusBadRequest, 200000, "Message was blocked by automatic moderation")
		}
	}
	return text, nil
}

// resolveReply checks what a reply points at. Discord answers 50035 for a
// message that is gone, not 10008 (seen in many bug reports of 2021 to 2025).
func (s *Server) resolveReply(ch *channel, form *referenceForm) (*reference, *user, *apiError) {
	if form == nil {
		return nil, nil, nil
	}
	if form.Type != nil && *form.Type != 0 {
		return nil, nil, notModelled("a forwarded message")
	}
	if form.ChannelID != "" && form.ChannelID != ch.id || form.GuildID != "" && form.GuildID != ch.guildID() {
		return nil, nil, invalidForm("message_reference", "REPLIES_CANNOT_REFERENCE_OTHER_CHANNEL", "Cannot reply to a message in a different channel")
	}
	if !ch.may(ReadHistory) {
		return nil, nil, refuse(http.StatusForbidden, 160002, "You cannot reply without permission to read message history")
	}
	to := s.world.messages[form.MessageID]
	if to != nil && !to.deleted && to.channel == ch {
		return &reference{messageID: to.id, channelID: ch.id}, to.author, nil
	}
	if form.FailIfNotExists == nil || *form.FailIfNotExists {
		return nil, nil, invalidForm("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
	}
	return nil, nil, nil
}

// post gives a message its id and shows it.
func (s *Server) post(m *message) {
	if m.id == "" {
		m.id = s.nextID()
	}
	m.channel.archived = false
	m.channel.messages = append(m.channel.messages, m)
	s.world.messages[m.id] = m
	if !m.undelivered {
		s.emitMessage("MESSAGE_CREATE", m, s.createdObject(m))
	}
}
