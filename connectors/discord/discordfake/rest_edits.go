package discordfake

import (
	"encoding/json"
	"net/http"
	"time"
)

// oldAge is when a message's edits come under their own limit (DR-11).
const oldAge = time.Hour

// editForm is the body of an edit; missing and null fields stay as they are.
type editForm struct {
	Content         json.RawMessage  `json:"content"`
	Flags           *int             `json:"flags"`
	AllowedMentions *allowedMentions `json:"allowed_mentions"`
	Embeds          json.RawMessage  `json:"embeds"`
	Components      json.RawMessage  `json:"components"`
	StickerIDs      []string         `json:"sticker_ids"`
	Attachments     []attachmentForm `json:"attachments"` // an empty list takes all away
}

func (f *editForm) check() *apiError {
	if len(f.StickerIDs) > 0 {
		return notModelled("stickers")
	}
	if f.Flags != nil && *f.Flags&^editFlags != 0 {
		return invalidForm("flags", "MESSAGE_FLAGS_INVALID", "a flag that cannot be set")
	}
	return f.AllowedMentions.check()
}

func (s *Server) editMessage(c *call) (int, any, *apiError) {
	var form editForm
	if e := decode(c.body, &form); e != nil {
		return 0, nil, e
	}
	if e := form.check(); e != nil {
		return 0, nil, e
	}
	m, e := s.editable(c)
	if e != nil {
		return 0, nil, e
	}
	next := *m // so that a refused edit changes nothing
	if next.attachments, e = s.editAttachments(m.attachments, form.Attachments, c.files); e != nil {
		return 0, nil, e
	}
	text, e := s.applyEdit(&next, &form)
	if e != nil {
		return 0, nil, e
	}
	before := m.mentions
	*m = next
	s.revise(m, text, s.mentionsOf(m.channel, text, form.AllowedMentions, s.replied(m)))
	s.notePings(m, before, true)
	return http.StatusOK, s.messageObject(m), nil
}

// editable is the message that a call names, if the bot may edit it now.
func (s *Server) editable(c *call) (*message, *apiError) {
	ch, e := s.visible(c)
	if e != nil {
		return nil, e
	}
	m, e := s.standing(c, ch)
	switch {
	case e != nil:
		return nil, e
	case m.author != s.bot:
		return nil, refuse(http.StatusForbidden, 50005, "Cannot edit a message authored by another user")
	case ch.archived:
		return nil, refuse(http.StatusBadRequest, 50083, "Thread is archived")
	case s.rules.oldEditHold > 0 && time.Since(m.createdAt()) > oldAge:
		e := refuse(http.StatusTooManyRequests, 30046, "Maximum number of edits to messages older than 1 hour reached. Try again later")
		e.extra = object{"retry_after": s.rules.oldEditHold.Seconds(), "global": false}
		return nil, e
	}
	return m, nil
}

func (s *Server) applyEdit(m *message, form *editForm) (string, *apiError) {
	if given(form.Embeds) {
		m.embeds, m.unfurled = form.Embeds, false
	}
	if given(form.Components) {
		m.components = form.Components
	}
	if form.Flags != nil {
		m.flags = *form.Flags
	}
	text := m.content()
	if len(form.Content) > 0 {
		var content *string // an explicit null empties the text
		if err := json.Unmarshal(form.Content, &content); err != nil {
			return "", invalidForm("content", "STRING_TYPE_CONVERT", "Could not interpret the content as string.")
		}
		text = ""
		if content != nil {
			text = *content
		}
	}
	return s.acceptText(text, m)
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// replied is the author of the message that m answers, if both stand.
func (s *Server) replied(m *message) *user {
	if m.reply == nil {
		return nil
	}
	if to := s.world.messages[m.reply.messageID]; to != nil && !to.deleted {
		return to.author
	}
	return nil
}

// revise shows a new version of a message.
func (s *Server) revise(m *message, text string, effect mentions) {
	m.versions = append(m.versions, Version{At: time.Now(), Content: text, Flags: m.flags, Attachments: m.attachments})
	m.mentions = effect
	s.emitMessage("MESSAGE_UPDATE", m, s.messageObject(m))
}

func (s *Server) deleteMessage(c *call) (int, any, *apiError) {
	if len(c.body) > 0 {
		return 0, nil, invalidForm("body", "UNKNOWN_FIELD", "delete takes no body")
	}
	ch, e := s.visible(c)
	if e != nil {
		return 0, nil, e
	}
	m, e := s.standing(c, ch)
	switch {
	case e != nil:
		return 0, nil, e
	case m.author != s.bot && ch.kind == TypeDM:
		return 0, nil, refuse(http.StatusForbidden, 50003, "Cannot execute action on a DM channel")
	case m.author != s.bot && !ch.may(ManageMessages):
		return 0, nil, missingPermissions()
	}
	s.remove(m)
	return http.StatusNoContent, nil, nil
}

func (s *Server) remove(m *message) {
	m.deleted, m.deletedAt = true, time.Now()
	if m.onlyFor != "" {
		return
	}
	o := object{"id": m.id, "channel_id": m.channel.id}
	if m.channel.guild != nil {
		o["guild_id"] = m.channel.guild.id
	}
	s.emit(event{name: "MESSAGE_DELETE", channel: m.channel, needs: messageIntent(m.channel), data: o})
}
