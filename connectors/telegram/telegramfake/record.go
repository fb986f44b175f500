package telegramfake

import "time"

// post puts a message into a chat.
func (s *Server) post(ch *chat, from *User, v Version) *message {
	v.At = time.Now()
	m := &message{chat: ch, from: from, date: v.At, versions: []Version{v}}
	if ch.Type == supergroup || ch.Type == channel {
		ch.nextID++
		m.id = ch.nextID
	} else {
		s.nextBoxID++
		m.id = s.nextBoxID
	}
	ch.messages[m.id] = m
	ch.order = append(ch.order, m)
	return m
}

func (s *Server) service(ch *chat, from *User, field string, value any) *message {
	m := s.post(ch, from, Version{})
	m.service, m.value = field, value
	return m
}

// replyIn makes m a reply. Outside topics a supergroup numbers the chain by its first message (TR-25).
func (m *message) replyIn(target *message) {
	m.replyTo, m.elsewhere = target.id, target.chat != m.chat
	if m.elsewhere || m.topic || m.chat.Type != supergroup {
		return
	}
	m.thread = target.thread
	if m.thread == 0 {
		m.thread = target.id
	}
}
