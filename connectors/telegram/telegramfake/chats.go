package telegramfake

import (
	"strconv"
	"time"
)

// chat is the server's record of a conversation.
type chat struct {
	Chat
	owner    *User // opened the topics of a forum
	nextID   int   // of supergroups and channels only; the others share a counter
	messages map[int]*message
	order    []*message
	topics   map[int]*topic
	actions  []Action
	drafts   []*Draft
	budget   bucket
	out      string // why the bot can't write, empty if it can
	mute     bool   // the bot may not post in this channel
	newID    int64  // after a migration
	admin    bool   // the bot is an administrator

	ephemeral int           // the last number of an ephemeral message
	slow      time.Duration // slow mode; 0 for none
	lastPost  time.Time     // of the bot
}

type topic struct {
	name   string
	closed bool
}

func (c *chat) live(id int) *message {
	if m := c.messages[id]; m != nil && !m.deleted {
		return m
	}
	return nil
}

// AddUser makes a person with a name and, if it isn't empty, a username.
func (s *Server) AddUser(firstName, username string) User {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &User{ID: s.nextUser, FirstName: firstName, Username: trimAt(username), LanguageCode: "en"}
	s.nextUser++
	s.users[u.ID] = u
	return *u
}

// AddPrivate is the conversation of u with the bot, which u has started. Without it the bot can't write to u.
func (s *Server) AddPrivate(u User) Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(Chat{ID: u.ID, Type: private, FirstName: u.FirstName, LastName: u.LastName, Username: u.Username}).Chat
}

// AddGroup is a basic group that the bot is in.
func (s *Server) AddGroup(title string) Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextGroup++
	return s.add(Chat{ID: -s.nextGroup, Type: group, Title: title}).Chat
}

// AddSupergroup is a supergroup that the bot is in, with topics if forum is set.
func (s *Server) AddSupergroup(title string, forum bool) Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addSupergroup(title, forum).Chat
}

func (s *Server) addSupergroup(title string, forum bool) *chat {
	s.nextGroup++
	return s.add(Chat{ID: -1_000_000_000_000 - s.nextGroup, Type: supergroup, Title: title, IsForum: forum})
}

func (s *Server) add(c Chat) *chat {
	if old := s.chats[c.ID]; old != nil {
		return old
	}
	owner := &User{ID: 777_000 + int64(len(s.chats)), FirstName: "Owner"}
	ch := &chat{Chat: c, owner: owner, messages: map[int]*message{}, topics: map[int]*topic{}}
	ch.nextID = 1 // General's number, and the message that told of the group's creation
	s.chats[c.ID] = ch
	return ch
}

// AddTopic opens a topic in a forum or a private chat and returns its message_thread_id.
func (s *Server) AddTopic(c Chat, name string) int { return s.addTopic(c, name, false) }

// AddUntitledTopic opens a topic in a private chat whose name the client has made up.
func (s *Server) AddUntitledTopic(c Chat) int { return s.addTopic(c, "New topic", true) }

func (s *Server) addTopic(c Chat, name string, implicit bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.must(c)
	by := ch.owner
	if u := s.users[ch.ID]; u != nil {
		by = u
	}
	return s.openTopic(ch, by, name, implicit)
}

// openTopic opens a topic, and tells the bot if it was another one who did.
func (s *Server) openTopic(ch *chat, by *User, name string, implicit bool) int {
	about := map[string]any{"name": name, "icon_color": 7322096}
	if implicit {
		about["is_name_implicit"] = true
	}
	m := s.service(ch, by, "forum_topic_created", about)
	m.thread, m.topic = m.id, true
	ch.topics[m.id] = &topic{name: name}
	if by != &s.bot {
		s.tell(m)
	}
	return m.id
}

// Topics returns the names of a chat's topics, by their numbers.
func (s *Server) Topics(c Chat) map[int]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[int]string{}
	for id, t := range s.must(c).topics {
		names[id] = t.name
	}
	return names
}

// WithTopics is a bot whose private chats have topics, which users may open.
func WithTopics() Option { return func(s *Server) { s.topics = true } }

// UseTopics is [WithTopics] for a server that exists.
func (s *Server) UseTopics() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.topics = true
}

func (s *Server) createTopic(c *call) (any, error) {
	name := c.params["name"]
	switch {
	case c.chat.Type == private && !s.topics, c.chat.Type != private && !c.chat.IsForum:
		return nil, badRequest("the chat is not a forum")
	case name == "" || len([]rune(name)) > 128:
		return nil, badRequest("TOPIC_TITLE_EMPTY")
	}
	id := s.openTopic(c.chat, &s.bot, name, false)
	return map[string]any{"message_thread_id": id, "name": name, "icon_color": 7322096}, nil
}

func (s *Server) editTopic(c *call) (any, error) {
	t := c.chat.topics[c.int("message_thread_id")]
	switch name := c.params["name"]; {
	case t == nil:
		return nil, badRequest("TOPIC_ID_INVALID")
	case t.name == name:
		return nil, badRequest("TOPIC_NOT_MODIFIED")
	case name != "":
		t.name = name
	}
	return true, nil
}

// CloseTopic closes a topic: the bot can't write into it.
func (s *Server) CloseTopic(c Chat, thread int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(c).topics[thread].closed = true
}

// DeleteTopic deletes a topic with all messages in it. The bot is not told.
func (s *Server) DeleteTopic(c Chat, thread int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.must(c)
	delete(ch.topics, thread)
	for _, m := range ch.messages {
		if m.topic && m.thread == thread {
			m.deleted = true
		}
	}
}

// Migrate turns a basic group into a supergroup with another id (TR-24): both get a service message, and messages
// do not move.
func (s *Server) Migrate(c Chat) Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.must(c)
	if old.newID != 0 {
		return s.chats[old.newID].Chat
	}
	next := s.addSupergroup(old.Title, false)
	s.tell(s.service(old, old.owner, "migrate_to_chat_id", next.ID))
	s.tell(s.service(next, old.owner, "migrate_from_chat_id", old.ID))
	old.newID = next.ID
	return next.Chat
}

// Block lets u block the bot, Unblock lets u take it back; both send my_chat_member.
func (s *Server) Block(u User) {
	s.membership(u.ID, u, "member", "kicked", "bot was blocked by the user")
}

// Unblock undoes [Server.Block].
func (s *Server) Unblock(u User) { s.membership(u.ID, u, "kicked", "member", "") }

// Kick throws the bot out of a group or channel, by is who does it.
func (s *Server) Kick(c Chat, by User) {
	s.membership(c.ID, by, "member", "kicked", "bot was kicked from the "+c.Type+" chat")
}

// Restrict takes the bot's right to write in a group.
func (s *Server) Restrict(c Chat, by User) {
	s.membership(c.ID, by, "member", "restricted", "not enough rights to send text messages to the chat")
}

// JoinBot brings the bot into a group, as an ordinary member, or into a channel, with a my_chat_member update.
func (s *Server) JoinBot(c Chat, by User) { s.membership(c.ID, by, "left", "member", "") }

// Enter brings u into a group, Leave takes u out; both are told by a notice in the group.
func (s *Server) Enter(c Chat, u User) { s.notice(c, u, "new_chat_members", []User{u}) }

// Leave undoes [Server.Enter].
func (s *Server) Leave(c Chat, u User) { s.notice(c, u, "left_chat_member", u) }

func (s *Server) notice(c Chat, u User, field string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(s.service(s.must(c), s.user(u), field, value))
}

// Promote makes u an administrator of a group where the bot is one: it is told by chat_member.
func (s *Server) Promote(c Chat, u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue("chat_member", map[string]any{
		"chat": s.must(c).Chat, "from": u, "date": time.Now().Unix(),
		"old_chat_member": map[string]any{"status": "member", "user": u},
		"new_chat_member": map[string]any{"status": "administrator", "user": u},
	})
}

func (s *Server) membership(id int64, by User, was, is, out string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.must(Chat{ID: id})
	ch.out = ""
	s.enqueue("my_chat_member", map[string]any{
		"chat": ch.Chat, "from": by, "date": time.Now().Unix(),
		"old_chat_member": s.member(ch, was), "new_chat_member": s.member(ch, is),
	})
	ch.out = out
}

// member is the bot's ChatMember: who is in a channel is an administrator.
func (s *Server) member(ch *chat, status string) map[string]any {
	if status == "member" && ch.Type == channel {
		return s.administrator(ch)
	}
	out := map[string]any{"status": status, "user": s.bot}
	if status == "kicked" || status == "restricted" {
		out["until_date"] = 0
	}
	if status == "restricted" {
		out["is_member"] = true
		for _, right := range []string{
			"can_send_messages", "can_send_audios", "can_send_documents", "can_send_photos", "can_send_videos", "can_send_video_notes",
			"can_send_voice_notes", "can_send_polls", "can_send_other_messages", "can_add_web_page_previews", "can_react_to_messages",
			"can_edit_tag", "can_change_info", "can_invite_users", "can_pin_messages", "can_manage_topics",
		} {
			out[right] = false
		}
	}
	return out
}

// must finds a chat that the test has made.
func (s *Server) must(c Chat) *chat {
	ch := s.chats[c.ID]
	if ch == nil {
		panic("telegramfake: no chat " + strconv.FormatInt(c.ID, 10) + "; make it with an Add method")
	}
	return ch
}

// find looks a chat_id up. No chat here has a public @username.
func (s *Server) find(id string) *chat {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil
	}
	return s.chats[n]
}

// readable is the chat of a chat_id, or the refusal that the real server gives.
func (s *Server) readable(id string) (*chat, error) {
	if id == "" {
		return nil, badRequest("chat_id is empty")
	}
	if ch := s.find(id); ch != nil {
		return ch, nil
	}
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && s.users[n] != nil {
		return nil, forbidden("bot can't initiate conversation with a user")
	}
	return nil, badRequest("chat not found")
}

func (s *Server) writable(id string) (*chat, error) {
	ch, err := s.readable(id)
	switch {
	case err != nil:
		return nil, err
	case ch.newID != 0:
		e := badRequest("group chat was upgraded to a supergroup chat")
		e.migrateTo = ch.newID
		return nil, e
	case ch.out != "":
		return nil, forbidden(ch.out)
	case ch.mute:
		return nil, badRequest("need administrator rights in the channel chat")
	}
	return ch, nil
}

// SetLanguage sets the language of a user's client.
func (s *Server) SetLanguage(u User, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user(u).LanguageCode = code
}
