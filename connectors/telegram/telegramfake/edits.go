package telegramfake

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"
)

func (s *Server) editMessageText(c *call) (any, error) {
	m, err := s.editable(c)
	if err != nil {
		return nil, err
	}
	if m.media != nil {
		return nil, badRequest("there is no text in the message to edit")
	}
	v, err := s.content(c)
	if err != nil {
		return nil, err
	}
	return s.revise(c, m, v)
}

// editMessageMedia replaces a message's file. Captions are not modeled.
func (s *Server) editMessageMedia(c *call) (any, error) {
	v := Version{At: time.Now()}
	var err error
	if v.Upload, err = s.inputMedia(c); err != nil {
		return nil, err
	}
	if v.Markup, err = c.keyboard(); err != nil {
		return nil, err
	}
	m, err := s.editable(c)
	if err != nil {
		return nil, err
	}
	if m.media == nil {
		return nil, s.rejectLocked(c, errors.New("a text becomes a file: not modelled"))
	}
	return s.revise(c, m, v)
}

// editable returns the message that a request names, if the bot may edit it.
func (s *Server) editable(c *call) (*message, error) {
	m := c.chat.live(c.int("message_id"))
	switch {
	case m == nil:
		return nil, badRequest("message to edit not found")
	case m.from.ID != s.bot.ID || m.service != "":
		return nil, badRequest("message can't be edited")
	}
	return m, nil
}

// revise stores a new version of a message.
func (s *Server) revise(c *call, m *message, v Version) (any, error) {
	c.log.Message = m.id
	if v.same(m.now()) {
		return nil, badRequest("message is not modified: specified new message content and reply markup are exactly " +
			"the same as a current content and reply markup of the message")
	}
	m.versions = append(m.versions, v)
	if v.Upload != nil {
		m.media = s.keep(v.Upload)
	}
	return m.wire(false), nil
}

// same reports whether users would see no difference (TR-07): a preview counts only where there is a link.
func (v *Version) same(old *Version) bool {
	if string(v.Rich) != string(old.Rich) || v.Text != old.Text || !reflect.DeepEqual(v.Entities, old.Entities) || string(v.Markup) != string(old.Markup) || !v.Upload.same(old.Upload) {
		return false
	}
	linked := strings.Contains(v.Text, "://") ||
		slices.ContainsFunc(v.Entities, func(e Entity) bool { return e.Type == "text_link" })
	return !linked || reflect.DeepEqual(v.LinkPreview, old.LinkPreview)
}

func (u *Upload) same(old *Upload) bool {
	if u == nil || old == nil {
		return u == old
	}
	return u.Method == old.Method && u.Name == old.Name && bytes.Equal(u.Data, old.Data)
}
