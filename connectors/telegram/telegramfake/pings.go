package telegramfake

import (
	"slices"
	"strings"
)

// Ping is a mention in a bot message that notified a user.
type Ping struct {
	Chat    int64
	Message int
	Name    string // without @; empty for a mention by id. It may belong to a chat, or to any user of Telegram
	User    int64  // 0 if no user here has the name
	Asked   bool   // the mentioned user wrote in the chat before
}

// Pings returns all mentions of others in the bot's messages, each once per message. The server detects names as
// clients do, wherever the bot's own entities do not cover the text (SE-21).
func (s *Server) Pings() (all []Ping) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range s.chats {
		for _, m := range ch.order {
			if m.from.ID != s.bot.ID {
				continue
			}
			for _, v := range m.versions {
				for _, p := range s.pings(m, v) {
					if p.User != s.bot.ID && !slices.Contains(all, p) {
						all = append(all, p)
					}
				}
			}
		}
	}
	return all
}

func (s *Server) pings(m *message, v Version) (all []Ping) {
	var own []Entity
	for _, e := range v.Entities {
		switch {
		case e.Type == "text_mention" && e.User != nil:
			all = append(all, s.ping(m, v, "", e.User.ID))
			own = append(own, e)
		case isCode(e), e.Type == "text_link":
			own = append(own, e)
		}
	}
	for _, e := range detect(v.Text) {
		if e.Type != "mention" || meetsAny(own, e) {
			continue
		}
		name, id := strings.TrimPrefix(slice16(v.Text, e.Offset, e.Length), "@"), int64(0)
		for _, u := range s.users {
			if strings.EqualFold(u.Username, name) {
				id = u.ID
			}
		}
		all = append(all, s.ping(m, v, name, id))
	}
	return all
}

func (s *Server) ping(m *message, v Version, name string, user int64) Ping {
	asked := slices.ContainsFunc(m.chat.order, func(o *message) bool {
		return o.from.ID == user && user != s.bot.ID && !o.date.After(v.At)
	})
	return Ping{Chat: m.chat.ID, Message: m.id, Name: name, User: user, Asked: asked}
}

// Notified returns the first texts of the bot's messages in a chat that were not sent silently, oldest first. It includes those that were
// deleted since.
func (s *Server) Notified(chat int64) (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.notified {
		if m.chat.ID == chat {
			texts = append(texts, m.versions[0].Text)
		}
	}
	return texts
}
