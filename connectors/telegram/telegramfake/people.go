package telegramfake

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// said is what a user's message has besides its text.
type said struct {
	replyTo     int
	topic       int
	named       string
	media       map[string]any
	origin      *User
	extra       map[string]any
	undelivered bool
	as          *Chat
}

// SayOption adds to [Server.Say] and [Server.UserEdit].
type SayOption func(*said)

// ReplyTo makes it a reply to a message of the same chat.
func ReplyTo(id int) SayOption { return func(o *said) { o.replyTo = id } }

// InTopic writes into a forum's topic; without it the message is in General.
func InTopic(thread int) SayOption { return func(o *said) { o.topic = thread } }

// MentionBot marks the first occurrence of name in the text as a text_mention of the bot: how clients mention who
// has no username. A mention by username needs no option.
func MentionBot(name string) SayOption { return func(o *said) { o.named = name } }

// WithMedia makes it a picture, a file or the like: fields of the API's Message, such as photo or media_group_id. The text
// is its caption.
func WithMedia(fields map[string]any) SayOption { return func(o *said) { o.media = fields } }

// ForwardedFrom makes it a message that first said before.
func ForwardedFrom(first User) SayOption { return func(o *said) { o.origin = &first } }

// With gives the message further fields, such as external_reply; unlike [WithMedia], its text stays one.
func With(fields map[string]any) SayOption { return func(o *said) { o.extra = fields } }

// Undelivered makes it a message that the bot is not told of, as in privacy mode, or before it joined.
func Undelivered() SayOption { return func(o *said) { o.undelivered = true } }

// As writes in the name of a chat: of the group itself, as anonymous administrators do, or of a channel.
func As(c Chat) SayOption { return func(o *said) { o.as = &c } }

// Say lets from write text into c. The bot gets it as its privacy mode and allowed_updates permit.
func (s *Server) Say(c Chat, from User, text string, opts ...SayOption) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch, o := s.must(c), options(opts)
	m := s.post(ch, s.user(from), s.typed(text, o))
	m.media, m.origin, m.extra, m.as = o.media, o.origin, o.extra, o.as
	if m.as != nil {
		m.from = &User{ID: anonymousAdmin, IsBot: true, FirstName: "Group", Username: "GroupAnonymousBot"}
	}
	if o.topic != 0 {
		m.thread, m.topic = o.topic, true
	}
	if target := ch.messages[o.replyTo]; target != nil {
		m.replyIn(target)
	}
	ch.removeDrafts(m)
	if !o.undelivered {
		s.tell(m)
	}
	return m.public()
}

// anonymousAdmin is the account that stands for people who write in the name of a chat.
const anonymousAdmin = 1087968824

// UserEdit lets the sender of m change its text.
func (s *Server) UserEdit(m Message, text string, opts ...SayOption) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.must(Chat{ID: m.Chat}).messages[m.ID]
	v := s.typed(text, options(opts))
	v.At = time.Now()
	rec.versions = append(rec.versions, v)
	s.tell(rec)
	return rec.public()
}

// UserDelete lets a user delete m, be it their own or the bot's. The bot is not told.
func (s *Server) UserDelete(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(Chat{ID: m.Chat}).messages[m.ID].deleted = true
}

// React changes from's reactions to m from old to now, both emoji. The bot hears of it in private chats, and as an
// administrator of groups.
func (s *Server) React(m Message, from User, old, now []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := func(emoji []string) (all []map[string]any) {
		all = []map[string]any{}
		for _, e := range emoji {
			all = append(all, map[string]any{"type": "emoji", "emoji": e})
		}
		return all
	}
	s.enqueue("message_reaction", map[string]any{
		"chat": s.must(Chat{ID: m.Chat}).Chat, "message_id": m.ID, "user": from, "date": time.Now().Unix(),
		"old_reaction": list(old), "new_reaction": list(now),
	})
}

// standardEmoji are some of those that bots can react with.
var standardEmoji = []string{"👍", "👎", "❤", "🔥", "👀", "🤔", "👌", "🤝", "✍", "🙊", "🤷", "🤨"}

// setMessageReaction replaces the bot's reactions, of which it can have one.
func (s *Server) setMessageReaction(c *call) (any, error) {
	var list []struct{ Type, Emoji string }
	if err := json.Unmarshal([]byte(c.params["reaction"]), &list); err != nil || len(list) > 1 {
		return nil, badRequest("REACTIONS_TOO_MANY")
	}
	m := c.chat.live(c.int("message_id"))
	if m == nil {
		return nil, badRequest("message to react not found")
	}
	m.reactions = nil
	for _, r := range list {
		if r.Type != "emoji" || !slices.Contains(standardEmoji, r.Emoji) {
			return nil, badRequest("REACTION_INVALID")
		}
		m.reactions = []string{r.Emoji}
	}
	return true, nil
}

// Press lets from press an inline button of m that carries data, and returns the id of the callback query.
func (s *Server) Press(m Message, from User, data string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.must(Chat{ID: m.Chat}).messages[m.ID]
	id := "cq" + itoa(len(s.callbacks)+1)
	s.callbacks[id] = time.Now()
	s.enqueue("callback_query", map[string]any{
		"id": id, "from": from, "message": rec.wire(false), "chat_instance": itoa(int(m.Chat)), "data": data,
	})
	return id
}

func options(opts []SayOption) said {
	var o said
	for _, set := range opts {
		set(&o)
	}
	return o
}

// ConnectBusiness adds the bot to the business account of u, or removes it. chat is the one of u with the bot.
func (s *Server) ConnectBusiness(u User, chat Chat, enabled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue("business_connection", map[string]any{
		"id": "b1", "user": s.user(u), "user_chat_id": chat.ID, "date": time.Now().Unix(), "is_enabled": enabled,
	})
}

func (s *Server) user(u User) *User {
	if known := s.users[u.ID]; known != nil {
		return known
	}
	s.users[u.ID] = &u
	return &u
}

// typed is what a client makes of a text.
func (s *Server) typed(text string, o said) Version {
	v := Version{Raw: text}
	v.Text, _ = clean(text, nil)
	v.Entities = detect(v.Text)
	if i := strings.Index(v.Text, o.named); o.named != "" && i >= 0 {
		bot := s.bot
		v.Entities = append(v.Entities, Entity{
			Type: "text_mention", Offset: units(v.Text[:i]), Length: units(o.named), User: &bot,
		})
		sortEntities(v.Entities)
	}
	return v
}

// tell sends the bot an update about m if it may know of it.
func (s *Server) tell(m *message) {
	if m.chat.out != "" || m.chat.newID != 0 || !s.visible(m) {
		return
	}
	kind := "message"
	if m.chat.Type == channel {
		kind = "channel_post"
	}
	if len(m.versions) > 1 {
		kind = "edited_" + kind
	}
	s.enqueue(kind, m.wire(false))
}

// visible is privacy mode (TR-27): in groups the bot gets commands, mentions, replies to itself, service messages.
func (s *Server) visible(m *message) bool {
	if s.readAll || m.chat.Type == private || m.chat.Type == channel || m.service != "" || m.to != nil {
		return true
	}
	if target := m.chat.messages[m.replyTo]; target != nil && target.from.ID == s.bot.ID {
		return true
	}
	v := m.now()
	for _, e := range v.Entities {
		word := slice16(v.Text, e.Offset, e.Length)
		switch e.Type {
		case "text_mention":
			if e.User != nil && e.User.ID == s.bot.ID {
				return true
			}
		case "mention":
			if trimAt(word) == trimAt(s.bot.Username) {
				return true
			}
		case "bot_command":
			_, to, addressed := strings.Cut(word, "@")
			if e.Offset == 0 && (!addressed || trimAt(to) == trimAt(s.bot.Username)) {
				return true
			}
		}
	}
	return false
}

func slice16(text string, offset, length int) string {
	u := utf16.Encode([]rune(text))
	if offset < 0 || length < 0 || offset+length > len(u) {
		return ""
	}
	return string(utf16.Decode(u[offset : offset+length]))
}
