package telegramfake

import (
	"maps"
	"strconv"
	"time"
)

// ephemeralTime is how long an ephemeral message, or a press, allows a bot that is no administrator to answer by an
// ephemeral message.
const ephemeralTime = 15 * time.Second

// ephemeralParameters is EphemeralMessageParameters.
type ephemeralParameters struct {
	Receiver int64  `json:"receiver_user_id"`
	Query    string `json:"callback_query_id"`
	Replace  bool   `json:"replace_callback_query_message"`
}

// SetBotAdmin makes the bot an administrator of c: it can send ephemeral messages at any time.
func (s *Server) SetBotAdmin(c Chat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(c).admin = true
}

// SayEphemeral lets from send a command that only the bot sees: clients do that for commands with is_ephemeral. Its
// [Message.ID], like that of all ephemeral messages, is the negative number of the ephemeral message.
func (s *Server) SayEphemeral(c Chat, from User, text string) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.whisper(s.must(c), s.user(from), &s.bot, s.typed(text, said{}))
	s.tell(m)
	return m.public()
}

// whisper posts an ephemeral message.
func (s *Server) whisper(c *chat, from, to *User, v Version) *message {
	m := s.post(c, from, v)
	delete(c.messages, m.id)
	c.ephemeral++
	m.id, m.to = -c.ephemeral, to
	c.messages[m.id] = m
	return m
}

// receiver returns the only user who shall see the message of a request, nil for everyone. target is the message that it
// replies to.
func (s *Server) receiver(c *call, target *message) (*User, error) {
	p, err := object[ephemeralParameters](s, c, "ephemeral_message_parameters")
	whispered := target != nil && target.to != nil
	switch {
	case err != nil:
		return nil, err
	case p == nil && whispered:
		return nil, badRequest("a reply to an ephemeral message must be ephemeral")
	case p == nil:
		return nil, nil
	case s.users[p.Receiver] == nil:
		return nil, badRequest("user not found")
	case c.chat.Type != group && c.chat.Type != supergroup:
		return nil, badRequest("BOT_NOT_ADMIN")
	case whispered && (target.from.ID != p.Receiver || time.Since(target.date) >= ephemeralTime):
		return nil, badRequest("message to be replied not found")
	case p.Query != "" && time.Since(s.callbacks[p.Query]) >= ephemeralTime:
		return nil, badRequest("query is too old and response timeout expired or query ID is invalid")
	case !whispered && p.Query == "" && !c.chat.admin:
		return nil, badRequest("BOT_NOT_ADMIN")
	}
	return s.users[p.Receiver], nil
}

// ephemeral runs the method for ordinary messages on an ephemeral one.
func (s *Server) ephemeral(run func(*call) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		c.params = maps.Clone(c.params) // the log has the original
		c.params["message_id"] = "-" + c.params["ephemeral_message_id"]
		m := c.chat.live(c.int("message_id"))
		if m == nil || m.to == nil || strconv.FormatInt(m.to.ID, 10) != c.params["receiver_user_id"] {
			return nil, badRequest("message to edit not found")
		}
		_, err := run(c)
		return true, err
	}
}
