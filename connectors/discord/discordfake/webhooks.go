package discordfake

import (
	"net/http"
	"time"
)

// tokenOf returns the interaction whose token a call has. Before its first answer there is none; an expired token is
// refused as unauthorized.
func (s *Server) tokenOf(c *call) (*interaction, *apiError) {
	for _, i := range s.interactions {
		switch {
		case i.token != c.params["webhook_token"] || c.params["webhook_id"] != s.bot.id:
		case time.Since(i.at) >= tokenLife:
			return nil, refuse(http.StatusUnauthorized, 50027, "Invalid Webhook Token")
		case !i.answered:
			return nil, refuse(http.StatusNotFound, 10015, "Unknown Webhook")
		default:
			return i, nil
		}
	}
	return nil, refuse(http.StatusNotFound, 10015, "Unknown Webhook")
}

// named is the message of an interaction that a call names: its original answer, or a follow-up.
func (s *Server) named(c *call) (*interaction, *message, *apiError) {
	i, e := s.tokenOf(c)
	if e != nil {
		return nil, nil, e
	}
	m := i.original
	if id, ok := c.params["message_id"]; ok {
		m = s.world.messages[id]
		if m == nil || m.by != i {
			return nil, nil, unknownMessage()
		}
	}
	if m != nil && m.deleted || m == nil && !i.deferred {
		return nil, nil, unknownMessage()
	}
	return i, m, nil
}

// editAnswer edits the original answer or a follow-up. While the bot is thinking, it ends that.
func (s *Server) editAnswer(c *call) (int, any, *apiError) {
	var form editForm
	if e := decode(c.body, &form); e != nil {
		return 0, nil, e
	}
	if e := form.check(); e != nil {
		return 0, nil, e
	}
	i, m, e := s.named(c)
	if e != nil {
		return 0, nil, e
	}
	if m == nil {
		return s.firstAnswer(c, i, &form)
	}
	next := *m
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
	c.entry.Channel, c.entry.Message = m.channel.id, m.id
	return http.StatusOK, s.messageObject(m), nil
}

func (s *Server) firstAnswer(c *call, i *interaction, form *editForm) (int, any, *apiError) {
	m := &message{channel: i.channel, author: s.bot, by: i}
	m.versions = []Version{{At: time.Now()}}
	var e *apiError
	if m.attachments, e = s.editAttachments(nil, form.Attachments, c.files); e != nil {
		return 0, nil, e
	}
	text, e := s.applyEdit(m, form)
	if e != nil {
		return 0, nil, e
	}
	m.versions = []Version{{At: time.Now(), Content: text, Flags: m.flags, Attachments: m.attachments}}
	m.mentions = s.mentionsOf(i.channel, text, form.AllowedMentions, nil)
	m.id = s.nextID()
	s.show(i, m, true)
	s.notePings(m, mentions{}, false)
	c.entry.Channel, c.entry.Message = m.channel.id, m.id
	return http.StatusOK, s.messageObject(m), nil
}

// followUp posts another message. While the bot is thinking, it would end that by mistake.
func (s *Server) followUp(c *call) (int, any, *apiError) {
	var form createForm
	if e := decode(c.body, &form); e != nil {
		return 0, nil, e
	}
	if e := form.check(flagEphemeral); e != nil {
		return 0, nil, e
	}
	i, e := s.tokenOf(c)
	switch {
	case e != nil:
		return 0, nil, e
	case i.deferred:
		return 0, nil, notModelled("a follow-up before the original answer")
	}
	m, e := s.draft(i.channel, &form, c.files, time.Now())
	if e != nil {
		return 0, nil, e
	}
	m.by = i
	m.id = s.nextID()
	if form.Flags != nil && *form.Flags&flagEphemeral != 0 {
		m.onlyFor = i.user.id
		s.world.messages[m.id] = m
		i.channel.private = append(i.channel.private, m)
	} else {
		s.post(m)
	}
	s.notePings(m, mentions{}, false)
	c.entry.Channel, c.entry.Message = m.channel.id, m.id
	return http.StatusOK, s.messageObject(m), nil
}

// deleteAnswer deletes the original answer or a follow-up; while the bot is thinking, it ends that.
func (s *Server) deleteAnswer(c *call) (int, any, *apiError) {
	if len(c.body) > 0 {
		return 0, nil, invalidForm("body", "UNKNOWN_FIELD", "delete takes no body")
	}
	i, m, e := s.named(c)
	if e != nil {
		return 0, nil, e
	}
	if i.deferred = false; m == nil {
		return http.StatusNoContent, nil, nil
	}
	s.remove(m)
	c.entry.Channel, c.entry.Message = m.channel.id, m.id
	return http.StatusNoContent, nil, nil
}
