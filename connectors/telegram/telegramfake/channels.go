package telegramfake

import "time"

// AddChannel is a channel in which the bot is an administrator with the right to post. Less than an administrator bots
// can't be there. Whatever is posted there comes from the channel: nobody is told who wrote it.
func (s *Server) AddChannel(title string) Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextGroup++
	return s.add(Chat{ID: -1_000_000_000_000 - s.nextGroup, Type: channel, Title: title}).Chat
}

// LetPost gives the bot the right to post in a channel, or takes it away, with a my_chat_member update; by is who does
// it. Without the right it hears of posts, and can change nothing.
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

// administrator is the bot's ChatMemberAdministrator in a channel.
func (s *Server) administrator(ch *chat) map[string]any {
	out := map[string]any{"status": "administrator", "user": s.bot, "can_manage_chat": true, "can_post_messages": !ch.mute}
	for _, right := range []string{
		"can_be_edited", "is_anonymous", "can_delete_messages", "can_manage_video_chats", "can_restrict_members", "can_promote_members",
		"can_change_info", "can_invite_users", "can_post_stories", "can_edit_stories", "can_delete_stories", "can_edit_messages",
	} {
		out[right] = false
	}
	return out
}
