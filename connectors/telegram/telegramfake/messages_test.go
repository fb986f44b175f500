package telegramfake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/connectors/telegram/telegramfake"
)

func TestSendAndEdit(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		chat := b.AddPrivate(ann)
		asked := b.Say(chat, ann, "question")
		sent := b.ok("sendMessage", params{
			"chat_id": chat.ID, "text": " <b>a</b>\tb \n", "parse_mode": "HTML",
			"reply_parameters":     params{"message_id": asked.ID, "allow_sending_without_reply": true},
			"link_preview_options": params{"is_disabled": true}, "disable_notification": true,
		}).message(t)
		if sent.Reply == nil || sent.Reply.ID != asked.ID || sent.Reply.Reply != nil {
			t.Errorf("reply_to_message: %+v", sent.Reply)
		}
		time.Sleep(time.Minute)
		b.ok("editMessageText", params{"chat_id": number(chat.ID), "message_id": sent.ID, "text": "done"})
		got := b.Messages(chat)[1]
		want := telegramfake.Message{
			ID: sent.ID, Chat: chat.ID, From: b.Bot(), Text: "done", ReplyTo: asked.ID, Silent: true,
			Date: asked.Date, Edited: asked.Date.Add(time.Minute), Versions: 2,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("message (-want +got):\n%s", d)
		}
		first := b.History(got)[0]
		if first.Text != "a b" || first.LinkPreview == nil || !first.LinkPreview.IsDisabled ||
			!slices.Equal(first.Entities, entities{{Type: "bold", Length: 1}}) {
			t.Errorf("first version: %+v", first)
		}
		b.ok("deleteMessage", params{"chat_id": chat.ID, "message_id": sent.ID})
		if n := len(b.Messages(chat)); n != 1 {
			t.Errorf("%d messages after the deletion; want 1", n)
		}
		b.clean()
	})
}

// TR-04: limits count code points after parsing, and bytes before.
func TestTextLimits(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		chat := b.AddPrivate(b.AddUser("Ann", "ann"))
		for _, unit := range []string{"a", "漢", "😀"} {
			b.send(chat, strings.Repeat(unit, 4095))
			b.send(chat, strings.Repeat(unit, 4096))
			b.refused(400, "Bad Request: message is too long", "sendMessage", params{"chat_id": chat.ID, "text": strings.Repeat(unit, 4097)})
		}
		html := func(text string) params {
			return params{"chat_id": chat.ID, "text": text, "parse_mode": "HTML"}
		}
		b.ok("sendMessage", html(strings.Repeat("&amp;", 4096)))
		b.refused(400, "Bad Request: text is too long", "sendMessage", html(strings.Repeat("&#00038;", 4096)+"x"))
		b.refused(400, "Bad Request: message text is empty", "sendMessage", html(""))
		b.refused(400, "Bad Request: text must be non-empty", "sendMessage", html(" \n\t<b> </b>\u200b"))
		b.refused(400, "Bad Request: can't parse entities: Unsupported start tag \"think\" at byte offset 1", "sendMessage", html("a<think>"))
		b.clean()
	}, telegramfake.WithoutFlood())
}

// TR-06: the end is trimmed, the start only before the first entity.
func TestTrimming(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		chat := b.AddPrivate(b.AddUser("Ann", "ann"))
		for _, html := range []string{" \n<b>a \n</b>", "<b> a</b>\t"} {
			b.ok("sendMessage", params{"chat_id": chat.ID, "text": html, "parse_mode": "HTML"})
		}
		m := b.Messages(chat)
		if m[0].Text != "a" || m[0].Entities[0].Length != 1 || m[1].Text != " a" || m[1].Entities[0].Length != 2 {
			t.Errorf("got %+v", m)
		}
	})
}

// TR-05: entities over a hundred vanish without a word, and Lost tells.
func TestEntitiesOverAHundredVanish(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		chat := b.AddPrivate(b.AddUser("Ann", "ann"))
		b.ok("sendMessage", params{"chat_id": chat.ID, "text": strings.Repeat("<b>x</b> ", 150), "parse_mode": "HTML"})
		m := b.Messages(chat)[0]
		if len(m.Entities) != 100 || m.Lost != 50 {
			t.Errorf("%d entities, %d lost; want 100 and 50", len(m.Entities), m.Lost)
		}
	})
}

// TR-07: compared after normalization; a preview counts only with a link.
func TestNotModified(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		chat := b.AddPrivate(b.AddUser("Ann", "ann"))
		id := b.send(chat, "a b")
		const same = "Bad Request: message is not modified: specified new message content and reply markup are exactly " +
			"the same as a current content and reply markup of the message"
		edit := func(text string, more params) params {
			p := params{"chat_id": chat.ID, "message_id": id, "text": text}
			for k, v := range more {
				p[k] = v
			}
			return p
		}
		html := params{"parse_mode": "HTML"}
		off := params{"link_preview_options": params{"is_disabled": true}}
		b.refused(400, same, "editMessageText", edit("a\tb\r \n", nil))
		b.refused(400, same, "editMessageText", edit("a b", off))
		b.ok("editMessageText", edit("<b>a</b> b", html))
		b.refused(400, same, "editMessageText", edit("<strong>a</strong> b", html))
		b.ok("editMessageText", edit("see https://a.example", nil))
		b.ok("editMessageText", edit("see https://a.example", off))
		b.ok("editMessageText", edit("see https://a.example", params{"reply_markup": params{"inline_keyboard": [][]params{}}}))
		if n := b.Messages(chat)[0].Versions; n != 5 {
			t.Errorf("%d versions; want 5", n)
		}
	}, telegramfake.WithoutFlood())
}

// TR-08: definite refusals.
func TestMissingMessagesAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		chat, group := b.AddPrivate(ann), b.AddGroup("g")
		b.send(chat, "hello")
		preview := b.Messages(chat)[0]
		theirs := b.Say(group, ann, "mine")
		b.UserDelete(preview)
		b.refused(400, "Bad Request: message to edit not found", "editMessageText", params{"chat_id": chat.ID, "message_id": preview.ID, "text": "x"})
		b.refused(400, "Bad Request: message to delete not found", "deleteMessage", params{"chat_id": chat.ID, "message_id": preview.ID})
		b.refused(400, "Bad Request: message can't be edited", "editMessageText", params{"chat_id": group.ID, "message_id": theirs.ID, "text": "x"})
		b.refused(400, "Bad Request: message can't be deleted", "deleteMessage", params{"chat_id": group.ID, "message_id": theirs.ID})
		reply := params{"chat_id": chat.ID, "text": "x", "reply_parameters": params{"message_id": preview.ID}}
		b.refused(400, "Bad Request: message to be replied not found", "sendMessage", reply)
		reply["reply_parameters"] = params{"message_id": preview.ID, "allow_sending_without_reply": true}
		b.ok("sendMessage", reply)
		reply["reply_parameters"] = params{"message_id": 99, "chat_id": group.ID, "allow_sending_without_reply": true}
		b.refused(400, "Bad Request: message to be replied not found", "sendMessage", reply)
		if h := b.History(preview); len(h) != 1 || h[0].Text != "hello" {
			t.Errorf("history of the deleted message: %+v", h)
		}
		old := b.send(chat, "old")
		time.Sleep(48 * time.Hour)
		b.refused(400, "Bad Request: message can't be deleted for everyone", "deleteMessage", params{"chat_id": chat.ID, "message_id": old})
		b.ok("editMessageText", params{"chat_id": chat.ID, "message_id": old, "text": "edits have no age"})
		b.clean()
	}, telegramfake.WithoutFlood())
}

func TestWhoCannotBeReached(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann, bob := b.AddUser("Ann", "ann"), b.AddUser("Bob", "bob")
		dm, forum := b.AddPrivate(ann), b.AddSupergroup("s", false)
		text := func(id any) params { return params{"chat_id": id, "text": "x"} }
		b.refused(400, "Bad Request: chat not found", "sendMessage", text(77))
		b.refused(403, "Forbidden: bot can't initiate conversation with a user", "sendMessage", text(bob.ID))
		b.Block(ann)
		b.refused(403, "Forbidden: bot was blocked by the user", "sendMessage", text(dm.ID))
		b.Kick(forum, bob)
		b.refused(403, "Forbidden: bot was kicked from the supergroup chat", "sendChatAction", params{"chat_id": forum.ID, "action": "typing"})
		b.Say(forum, bob, "/hidden")
		b.Unblock(ann)
		b.send(dm, "back")
		b.JoinBot(forum, bob)
		b.send(forum, "back")
		if got := b.updates(nil); len(got) != 4 || slices.ContainsFunc(got, func(u wireUpdate) bool { return u.Member == nil }) {
			t.Errorf("updates: %+v", got)
		}
	})
}

// TR-24: the group moves, its messages do not.
func TestMigration(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		old := b.AddGroup("g")
		id := b.send(old, "in the group")
		next := b.Migrate(old)
		a := b.refused(400, "Bad Request: group chat was upgraded to a supergroup chat", "sendMessage", params{"chat_id": old.ID, "text": "x"})
		if a.Parameters.MigrateTo != next.ID || next.Type != "supergroup" {
			t.Errorf("parameters %+v, new chat %+v", a.Parameters, next)
		}
		b.refused(400, "Bad Request: message to edit not found", "editMessageText", params{"chat_id": next.ID, "message_id": id + 5, "text": "x"})
		b.send(next, "in the supergroup")
		got := b.updates(nil)
		if len(got) != 2 || got[0].Message.Migrate != next.ID || got[0].Message.Chat.ID != old.ID || got[1].Message.Chat.ID != next.ID {
			t.Errorf("updates: %+v", got)
		}
		b.Say(old, ann, "/unheard")
		if n := len(b.Unconfirmed()); n != 2 {
			t.Errorf("%d updates; want 2", n)
		}
	})
}

// TR-25: what a thread id means, in and out.
func TestTopics(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		forum, plain, dm := b.AddSupergroup("forum", true), b.AddSupergroup("plain", false), b.AddPrivate(ann)
		topic := b.AddTopic(forum, "news")
		b.Say(forum, ann, "in topic", telegramfake.InTopic(topic))
		first := b.Say(forum, ann, "in general")
		b.Say(forum, ann, "reply in general", telegramfake.ReplyTo(first.ID))
		root := b.Say(plain, ann, "root")
		mid := b.Say(plain, ann, "reply", telegramfake.ReplyTo(root.ID))
		b.Say(plain, ann, "reply to reply", telegramfake.ReplyTo(mid.ID))
		var got []string
		for _, u := range b.updates(nil)[1:] {
			m := u.Message
			got = append(got, fmt.Sprint(m.Text, " ", m.Thread, " ", m.Topic, " ", m.Reply != nil))
		}
		want := []string{
			fmt.Sprint("in topic ", topic, " true true"), // to the message that opened it
			"in general 0 false false", fmt.Sprint("reply in general ", first.ID, " false true"),
			"root 0 false false", fmt.Sprint("reply ", root.ID, " false true"), fmt.Sprint("reply to reply ", root.ID, " false true"),
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("updates (-want +got):\n%s", d)
		}
		send := func(chat telegramfake.Chat, thread int) params {
			return params{"chat_id": chat.ID, "text": "x", "message_thread_id": thread}
		}
		const lost = "Bad Request: message thread not found"
		if m := b.ok("sendMessage", send(forum, topic)).message(t); m.Thread != topic || !m.Topic {
			t.Errorf("sent into the topic: %+v", m)
		}
		across := send(forum, topic)
		across["reply_parameters"] = params{"message_id": first.ID}
		if m := b.ok("sendMessage", across).message(t); m.Thread != topic || !m.Topic {
			t.Errorf("sent into the topic as a reply to General: %+v", m)
		}
		within := params{"chat_id": forum.ID, "text": "x", "reply_parameters": params{"message_id": topic}}
		if m := b.ok("sendMessage", within).message(t); m.Thread != topic || !m.Topic {
			t.Errorf("a reply stands where its question stands: %+v", m)
		}
		b.refused(400, lost, "sendMessage", send(forum, 1))
		b.refused(400, lost, "sendMessage", send(forum, first.ID))
		b.refused(400, lost, "sendMessage", send(dm, 7))
		b.ok("sendMessage", send(plain, root.ID))
		b.ok("sendChatAction", params{"chat_id": forum.ID, "action": "typing", "message_thread_id": topic})
		if a := b.Actions(forum); len(a) != 1 || a[0].Name != "typing" || a[0].Thread != topic {
			t.Errorf("actions: %+v", a)
		}
		b.CloseTopic(forum, topic)
		b.refused(400, "Bad Request: TOPIC_CLOSED", "sendMessage", send(forum, topic))
	}, telegramfake.WithReadAllGroupMessages())
}

// TR-27: in privacy mode a group tells the bot only what is for it.
func TestPrivacyMode(t *testing.T) {
	say := func(b *bot) []string {
		ann := b.AddUser("Ann", "ann")
		g := b.AddGroup("g")
		b.send(g, "mine")
		mine := b.Messages(g)[0]
		theirs := b.Say(g, ann, "between us")
		b.Say(g, ann, "/start")
		b.Say(g, ann, "/start@parley_bot now")
		b.Say(g, ann, "/start@other_bot")
		b.Say(g, ann, "ask @Parley_Bot please")
		b.Say(g, ann, "write to me@parley_bot.example")
		b.Say(g, ann, "hey Parley", telegramfake.MentionBot("Parley"))
		b.Say(g, ann, "no Parley here")
		b.Say(g, ann, "answer", telegramfake.ReplyTo(mine.ID))
		b.Say(g, ann, "aside", telegramfake.ReplyTo(theirs.ID))
		return b.texts(nil)
	}
	bubble(t, func(t *testing.T, b *bot) {
		want := []string{"/start", "/start@parley_bot now", "ask @Parley_Bot please", "hey Parley", "answer"}
		if d := cmp.Diff(want, say(b)); d != "" {
			t.Errorf("privacy on (-want +got):\n%s", d)
		}
	})
	bubble(t, func(t *testing.T, b *bot) {
		if n := len(say(b)); n != 10 {
			t.Errorf("privacy off: %d messages; want 10", n)
		}
	}, telegramfake.WithReadAllGroupMessages())
}

func TestProfile(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		chat := b.AddPrivate(ann)
		if me := string(b.ok("getMe", nil).Result); !strings.Contains(me, `"can_read_all_group_messages":false`) ||
			!strings.Contains(me, `"can_join_groups":true`) || !strings.Contains(me, `"username":"parley_bot"`) {
			t.Errorf("getMe: %s", me)
		}
		list := []params{{"command": "stop", "description": "Stop the answer"}}
		b.ok("setMyCommands", params{"commands": list})
		if got := string(b.ok("getMyCommands", nil).Result); got != `[{"command":"stop","description":"Stop the answer"}]` {
			t.Errorf("commands: %s", got)
		}
		if got := string(b.ok("getMyCommands", params{"language_code": "de"}).Result); got != `[]` {
			t.Errorf("commands of another language: %s", got)
		}
		b.refused(400, "Bad Request: BOT_COMMAND_INVALID", "setMyCommands", params{"commands": []params{{"command": "Stop!", "description": "x"}}})
		b.ok("getChat", params{"chat_id": chat.ID})
		id := b.send(chat, "choose")
		q := b.Press(telegramfake.Message{ID: id, Chat: chat.ID}, ann, "yes")
		b.ok("answerCallbackQuery", params{"callback_query_id": q, "text": "ok"})
		time.Sleep(150 * time.Second)
		b.refused(400, "Bad Request: query is too old and response timeout expired or query ID is invalid", "answerCallbackQuery", params{"callback_query_id": q})
		if a := b.CallbackAnswers(); len(a) != 1 || a[0].Text != "ok" {
			t.Errorf("answers: %+v", a)
		}
		b.clean()
	})
}

// Invariant I7: what no correct client sends is refused and remembered.
func TestStrictness(t *testing.T) {
	run := func(t *testing.T, opts ...telegramfake.Option) {
		bubble(t, func(t *testing.T, b *bot) {
			id := b.AddPrivate(b.AddUser("Ann", "ann")).ID
			wrong := []struct {
				method string
				p      params
			}{
				{"sendMessage", params{"chat_id": id, "text": "x", "reply_to_message_id": 3}},
				{"sendMessage", params{"chat_id": id, "text": "x", "disable_notification": 1}},
				{"sendMessage", params{"chat_id": "someone", "text": "x"}},
				{"sendMessage", params{"chat_id": id, "text": "x", "message_thread_id": "x"}},
				{"sendMessage", params{"chat_id": id, "text": "x", "link_preview_options": params{"disabled": true}}},
				{"sendMessage", params{"chat_id": id, "text": "x", "reply_parameters": "{"}},
				{"sendMessage", params{"chat_id": id, "text": "x", "parse_mode": "MarkdownV2"}},
				{"sendMessage", params{"chat_id": id, "text": "x", "entities": []params{{"type": "bold", "offset": "0"}}}},
				{"getMe", params{"x": 1}},
			}
			for _, w := range wrong {
				if a := b.call(w.method, w.p); a.ErrorCode != 400 {
					t.Errorf("%s %v: %+v", w.method, w.p, a)
				}
			}
			if n := len(b.Rejected()); n != len(wrong) {
				t.Errorf("%d rejected of %d: %+v", n, len(wrong), b.Rejected())
			}
			if n := len(b.Messages(telegramfake.Chat{ID: id})); n != 0 {
				t.Errorf("%d were sent all the same; want none", n)
			}
		}, opts...)
	}
	t.Run("table", func(t *testing.T) { run(t) })
	t.Run("specification", func(t *testing.T) { run(t, telegramfake.WithSpec(loadSpec(t))) })
}
