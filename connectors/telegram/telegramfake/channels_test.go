package telegramfake_test

import (
	"encoding/json"
	"testing"

	"parley/connectors/telegram/telegramfake"
	"parley/internal/require"
)

// A channel's posts come from the channel and hide their author, and the bot posts, changes and deletes as an
// administrator. It does not type there (TR-30).
func TestChannel(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		news := b.AddChannel("News")
		theirs := b.Say(news, ann, "we open")
		b.UserEdit(theirs, "we open on Monday")
		posts := b.posts()
		if len(posts) != 2 || posts[0].Post.Text != "we open" || posts[1].EditedPost.Text != "we open on Monday" {
			t.Fatalf("it heard %+v", posts)
		}
		for _, post := range []*channelPost{posts[0].Post, posts[1].EditedPost} {
			if post.From != nil || post.Sender.ID != news.ID || post.Chat.Type != "channel" {
				t.Errorf("it heard %+v", post)
			}
		}
		b.send(b.AddPrivate(ann), "elsewhere") // a channel counts on its own
		m := b.send(news, "the kettle")
		b.ok("editMessageText", params{"chat_id": news.ID, "message_id": m, "text": "the kettle sings"})
		b.refused(400, "Bad Request: message can't be edited", "editMessageText", params{"chat_id": news.ID, "message_id": theirs.ID, "text": "x"})
		b.refused(400, "Bad Request: message can't be deleted", "deleteMessage", params{"chat_id": news.ID, "message_id": theirs.ID})
		all := b.Messages(news)
		if len(all) != 2 || all[1].Text != "the kettle sings" || all[1].From.ID != b.Bot().ID || all[1].ID != theirs.ID+1 {
			t.Errorf("there stands %+v", all)
		}
		b.ok("deleteMessage", params{"chat_id": news.ID, "message_id": m})
		if n := len(b.posts()); n != 2 {
			t.Errorf("it heard of its own posts: %d; want 2", n)
		}
		b.clean()
		if b.call("sendChatAction", params{"chat_id": news.ID, "action": "typing"}).OK || len(b.Rejected()) != 1 {
			t.Error("the bot may type in a channel; want a refusal")
		}
	})
}

// Without the right the bot hears, and changes nothing.
func TestChannelWithoutRights(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		news := b.AddChannel("News")
		m := b.send(news, "the kettle sings")
		b.LetPost(news, ann, false)
		const want = "Bad Request: need administrator rights in the channel chat"
		b.refused(400, want, "sendMessage", params{"chat_id": news.ID, "text": "x"})
		b.refused(400, want, "editMessageText", params{"chat_id": news.ID, "message_id": m, "text": "x"})
		b.refused(400, want, "deleteMessage", params{"chat_id": news.ID, "message_id": m})
		b.Say(news, ann, "we open")
		if posts := b.posts(); len(posts) != 2 || posts[1].Post.Text != "we open" ||
			posts[0].Member.Old != (channelMember{"administrator", true}) || posts[0].Member.New != (channelMember{"administrator", false}) {
			t.Errorf("it heard %+v", posts)
		}
		b.LetPost(news, ann, true)
		b.send(news, "y")
		b.Kick(news, ann)
		b.refused(403, "Forbidden: bot was kicked from the channel chat", "sendMessage", params{"chat_id": news.ID, "text": "x"})
		b.clean()
	})
}

type channelPost struct {
	wireMessage
	From   *telegramfake.User `json:"from"`
	Sender telegramfake.Chat  `json:"sender_chat"`
	Chat   telegramfake.Chat  `json:"chat"`
}

type channelMember struct {
	Status string `json:"status"`
	Posts  bool   `json:"can_post_messages"`
}

type memberChange struct {
	Old channelMember `json:"old_chat_member"`
	New channelMember `json:"new_chat_member"`
}

type channelUpdate struct {
	Post       *channelPost  `json:"channel_post"`
	EditedPost *channelPost  `json:"edited_channel_post"`
	Member     *memberChange `json:"my_chat_member"`
}

// posts is all that the bot has not confirmed.
func (b *bot) posts() (all []channelUpdate) {
	b.t.Helper()
	require.NoError(b.t, json.Unmarshal(b.ok("getUpdates", nil).Result, &all))
	return all
}
