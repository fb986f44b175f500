package telegramfake

import "time"

// AddChannel creates a channel in which the bot is an administrator with the right to post; bots can only join channels
// as administrators. Posts there come from the channel and do not reveal their author.
func (s *Server) AddChannel(title string) Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextGroup++
	return s.add(Chat{ID: -1_000_000_000_000 - s.nextGroup, Type: channel, Title: title}).Chat
}

// LetPost grants or revokes the bot's right to post in a channel, with a my_chat_member update; by is the acting user.
// Without the right the bot still receives posts, but can't change anything.
func (s *Server) LetPost(c Chat, by User, may bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.must(c)
	was := s.member(ch, "member")
	ch.mute = !may
	s.enqueue("my_chat_member", map[string]any{
		"chat": ch.Chat, "from": by, "date": time.Now().Unix(), "old_chat_member": was, "new_chat_member": s.member(ch, "member"),
	})
}

// administrator returns the bot's ChatMemberAdministrator in a channel.
func (s *Server) administrator(ch *chat) map[string]any {
	out := map[string]any{"status": "administrator", "user": s.bot, "can_manage_chat": true, "can_post_messages": !ch.mute}
	for _, right := range []string{
		"can_be_edited", "is_anonymous", "can_delete_messages", "can_manage_video_chats", "can_restrict_members", "can_promote_members",
		"can_change_info", "can_invite_users", "can_post_stories", "can_edit_stories", "can_delete_stories", "can_edit_messages",
		"can_send_welcome_messages",
	} {
		out[right] = false
	}
	return out
}
