package telegramfake

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

const deleteLimit = 48 * time.Hour

// replyParameters holds the modeled part of ReplyParameters.
type replyParameters struct {
	MessageID int             `json:"message_id"`
	Ephemeral int             `json:"ephemeral_message_id"`
	ChatID    json.RawMessage `json:"chat_id"`
	Anyway    bool            `json:"allow_sending_without_reply"`
}

func (s *Server) sendMessage(c *call) (any, error) {
	v, err := s.content(c)
	if err != nil {
		return nil, err
	}
	return s.send(c, v)
}

// send posts v.
func (s *Server) send(c *call, v Version) (any, error) {
	thread, err := c.chat.writableThread(c.int("message_thread_id"))
	if err != nil {
		return nil, err
	}
	target, err := s.replyTarget(c)
	if err != nil {
		return nil, err
	}
	if thread == 0 && target != nil && target.topic && target.chat == c.chat {
		thread = target.thread // a reply goes to the topic of the message it replies to
	}
	to, err := s.receiver(c, target)
	if err != nil {
		return nil, err
	}
	if wait := c.chat.slowed(time.Now()); wait > 0 {
		return nil, tooMany(int((wait + time.Second - 1) / time.Second))
	}
	var m *message
	if to != nil {
		m = s.whisper(c.chat, &s.bot, to, v)
	} else {
		m = s.post(c.chat, &s.bot, v)
	}
	m.thread, m.topic, m.silent = thread, thread != 0, c.params["disable_notification"] == "true"
	if !m.silent {
		s.notified = append(s.notified, m)
	}
	if target != nil && to == nil {
		m.replyIn(target)
	}
	if v.Upload != nil {
		m.media = s.keep(v.Upload)
	}
	c.chat.removeDrafts(m)
	c.log.Message = m.id
	return m.wire(false), nil
}

// writableThread returns the topic to write into; 0 is General or no topic. Chats without topics ignore the number, and
// General's own number is not a topic (TR-25).
func (c *chat) writableThread(id int) (int, error) {
	if id == 0 || !c.IsForum && c.Type != private {
		return 0, nil
	}
	t := c.topics[id]
	switch {
	case t == nil:
		return 0, badRequest("message thread not found")
	case t.closed:
		return 0, badRequest("TOPIC_CLOSED")
	}
	return id, nil
}

func (s *Server) replyTarget(c *call) (*message, error) {
	p, err := object[replyParameters](s, c, "reply_parameters")
	if err != nil || p == nil {
		return nil, err
	}
	from := c.chat
	if id := strings.Trim(string(p.ChatID), `"`); id != "" {
		if from, err = s.readable(id); err != nil {
			return nil, err
		}
	}
	if p.Ephemeral != 0 {
		p.MessageID = -p.Ephemeral
	}
	if m := from.live(p.MessageID); m != nil {
		return m, nil
	}
	if p.Anyway && from == c.chat { // never across chats
		return nil, nil
	}
	return nil, badRequest("message to be replied not found")
}

// content returns the new state of a message that a request describes.
func (s *Server) content(c *call) (Version, error) {
	v := Version{At: time.Now(), Raw: c.params["text"], ParseMode: c.params["parse_mode"]}
	var err error
	if v.LinkPreview, err = object[LinkPreviewOptions](s, c, "link_preview_options"); err != nil {
		return v, err
	}
	if v.Markup, err = c.keyboard(); err != nil {
		return v, err
	}
	if rich := c.params["rich_message"]; rich != "" {
		v.Raw, v.Rich = rich, json.RawMessage(rich)
		v.Text, err = s.richText(c)
		return v, err
	}
	given, err := object[[]Entity](s, c, "entities")
	if err != nil {
		return v, err
	}
	if given != nil {
		v.Entities = *given
	}
	switch mode := strings.ToLower(v.ParseMode); mode {
	case "", "none", "html":
		v.Text, v.Entities, v.Lost, err = format(v.Raw, mode == "html", v.Entities)
	default:
		err = s.rejectLocked(c, errors.New("parse_mode "+v.ParseMode+" is not modelled (TR-10)"))
	}
	return v, err
}

func (s *Server) deleteMessage(c *call) (any, error) {
	m := c.chat.live(c.int("message_id"))
	switch {
	case m == nil:
		return nil, badRequest("message to delete not found")
	case time.Since(m.date) >= deleteLimit:
		return nil, badRequest("message can't be deleted for everyone")
	case m.from.ID != s.bot.ID && c.chat.Type != private, m.service != "":
		return nil, badRequest("message can't be deleted")
	}
	m.deleted = true
	c.log.Message = m.id
	return true, nil
}

// Action is an indicator that a chat shows above its input for up to five seconds.
type Action struct {
	At     time.Time
	Name   string // such as typing
	Thread int
}

func (s *Server) sendChatAction(c *call) (any, error) {
	known := []string{
		"typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",
		"choose_sticker", "find_location", "record_video_note", "upload_video_note",
	}
	name, thread := c.params["action"], c.int("message_thread_id")
	switch {
	case !slices.Contains(known, name):
		return nil, badRequest("wrong parameter action in request")
	case c.chat.Type == channel: // the documentation excludes channels; the server's behavior is unknown
		return nil, s.rejectLocked(c, errors.New("no chat actions in channels"))
	}
	const general = 1 // it is undocumented whether typing may name General; the server passes it on
	if (c.chat.IsForum && thread > general || c.chat.Type == private && thread != 0) && c.chat.topics[thread] == nil {
		return nil, badRequest("message thread not found")
	}
	c.chat.actions = append(c.chat.actions, Action{At: time.Now(), Name: name, Thread: thread})
	return true, nil
}
