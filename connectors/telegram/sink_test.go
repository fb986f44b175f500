package telegram

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/config/configtest"
	"parley/connectors/telegram/telegramfake"
	"parley/core/chat"
	"parley/internal/require"
	"parley/progressive"
)

func TestPostEditDelete(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		chat, s := r.private()
		id := r.post(s, "**hi** there")
		m := r.Messages(chat)[0]
		if m.Text != "hi there" || m.ReplyTo != 0 || m.Entities[0].Type != "bold" {
			t.Errorf("%+v", m)
		}
		if err := s.Edit(t.Context(), id, s.Render(view("see https://example.org"))[0]); err != nil {
			t.Error(err)
		}
		for _, v := range r.History(m) { // TR-32: each time
			if v.LinkPreview == nil || !v.LinkPreview.IsDisabled {
				t.Errorf("%q shows a preview", v.Text)
			}
		}
		require.NoError(t, s.Edit(t.Context(), id, progressive.Part{Plain: "1 < 2 *"}))
		if got := r.Messages(chat)[0]; got.Text != "1 < 2 *" || got.Versions != 3 {
			t.Errorf("%+v", got)
		}
		if err := s.Delete(t.Context(), id); err != nil || len(r.Messages(chat)) != 0 {
			t.Errorf("deleted: %v", err)
		}
	})
}

// TR-06, TR-07: what is there already was wanted.
func TestNotModified(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		_, s := r.private()
		id := r.post(s, "hello")
		for _, text := range []string{"hello", "hello \n", "hel\rlo"} {
			if err := s.Edit(t.Context(), id, progressive.Part{Plain: text}); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		if r.final("editMessageText").Status != 400 {
			t.Error("the fake accepted the edit; want status 400")
		}
	})
}

// TR-25: answers go where the question stands.
func TestWhereAnswersGo(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		ada := r.AddUser("Ada", "ada")
		forum, group, chat := r.AddSupergroup("Forum", true), r.AddGroup("Group"), r.AddPrivate(ada)
		topic, own := r.AddTopic(forum, "One"), r.AddTopic(chat, "Mine")
		root := r.Say(forum, ada, "root")
		for name, c := range map[string]struct {
			chat   telegramfake.Chat
			opts   []telegramfake.SayOption
			thread string
			reply  bool
		}{
			"group":            {group, nil, "", true},
			"General":          {forum, nil, "", true},
			"reply in General": {forum, []telegramfake.SayOption{telegramfake.ReplyTo(root.ID)}, "", true},
			"topic":            {forum, []telegramfake.SayOption{telegramfake.InTopic(topic)}, fmt.Sprint(topic), true},
			"private":          {chat, nil, "", false},
			"topic in private": {chat, []telegramfake.SayOption{telegramfake.InTopic(own)}, fmt.Sprint(own), false},
		} {
			s := r.ask(c.chat, ada, "hello "+name, c.opts...)
			if _, err := s.Typing(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			r.post(s, "hello")
			sent := r.final("sendMessage").Params
			if got := sent["message_thread_id"]; got != c.thread {
				t.Errorf("%s: sent to thread %q, want %q", name, got, c.thread)
			}
			if got := r.final("sendChatAction").Params["message_thread_id"]; got != c.thread {
				t.Errorf("%s: typing in thread %q, want %q", name, got, c.thread)
			}
			if got := sent["reply_parameters"] != ""; got != c.reply {
				t.Errorf("%s: reply %t; want %t", name, got, c.reply)
			}
			place := r.last().Here().Address // a message that the agent starts is not a reply
			r.post(r.open(place), "by myself")
			if sent := r.final("sendMessage").Params; sent["message_thread_id"] != c.thread || sent["reply_parameters"] != "" {
				t.Errorf("%s: said unasked: %v", name, sent)
			}
		}
	}, telegramfake.WithReadAllGroupMessages(), telegramfake.WithoutFlood())
}

func TestOnlyTheFirstPartReplies(t *testing.T) {
	s := newSink(newBot(telegramfake.DefaultToken, "", nil), address{Chat: -5, Message: 3, Kind: group})
	parts := s.Render(view(strings.Repeat("word ", 2000)))
	for i, p := range parts {
		if p.ReplyTo != (i == 0) {
			t.Errorf("part %d of %d: %t", i, len(parts), p.ReplyTo)
		}
	}
}

// TR-08: an answer to what was deleted stands alone.
func TestQuestionIsGone(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		ada := r.AddUser("Ada", "ada")
		group := r.AddSupergroup("Group", false)
		s := r.ask(group, ada, "hello")
		r.UserDelete(r.Messages(group)[0])
		r.post(s, "hi")
		if m := r.Messages(group); len(m) != 1 || m[0].Text != "hi" {
			t.Errorf("%+v", m)
		}
		r.Fault(telegramfake.Fault{Method: "sendMessage", Status: 400, Body: bad("message to be replied not found")})
		if _, err := s.Post(t.Context(), s.Render(view("x"))[0], ""); err == nil {
			t.Error("the post succeeded although the message to reply to is gone; want an error")
		}
		r.post(s, "x")
		if r.final("sendMessage").Params["reply_parameters"] != "" {
			t.Error("the next post replies to the deleted message again; want no reply")
		}
	}, telegramfake.WithReadAllGroupMessages())
}

// A message to a deleted topic of a private chat goes into the chat; in a group it is refused. A message that a user deletes there stays deleted.
func TestTopicIsGone(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		ada := r.AddUser("Ada", "ada")
		for _, c := range []telegramfake.Chat{r.AddPrivate(ada), r.AddSupergroup("Forum", true)} {
			topic := r.AddTopic(c, "One")
			s := r.ask(c, ada, "hello", telegramfake.InTopic(topic))
			r.DeleteTopic(c, topic)
			_, err := s.Post(t.Context(), s.Render(view("x"))[0], "")
			if c.Type != private {
				wantError(t, err, progressive.ErrForbidden)
				continue
			}
			wantError(t, err, progressive.ErrUnsent)
			id := r.post(s, "x")
			for _, m := range r.Messages(c) {
				r.UserDelete(m)
			}
			wantError(t, s.Edit(t.Context(), id, s.Render(view("y"))[0]), progressive.ErrGone)
		}
	}, telegramfake.WithReadAllGroupMessages())
}

// TR-24: a group that got a new id is written to there, once, and keeps its room.
func TestMigratedGroupKeepsItsRoom(t *testing.T) {
	for _, told := range []bool{true, false} {
		withBot(t, func(t *testing.T, r *botHarness) {
			stop := r.run(r.bot)
			ada := r.AddUser("Ada", "ada")
			old := r.AddGroup("Group")
			s := r.ask(old, ada, "hello")
			room := r.last().Room
			id := r.post(s, "first")
			if !told {
				stop()
			}
			now := r.Migrate(old)
			synctest.Wait()
			before := r.count("sendMessage")
			second := require.Value(s.Post(t.Context(), s.Render(view("second"))[0], ""))(t)
			if m := r.Messages(now); m[len(m)-1].Text != "second" {
				t.Errorf("%+v", m)
			}
			if want := map[bool]int{true: 1, false: 2}[told]; r.count("sendMessage")-before != want {
				t.Errorf("told %t: %d requests; want %d", told, r.count("sendMessage")-before, want)
			}
			if reply := r.final("sendMessage").Params["reply_parameters"]; reply != "" {
				t.Errorf("it replies to another chat's message: %s; want none", reply)
			}
			wantError(t, s.Edit(t.Context(), id, part("first, changed")), progressive.ErrStale)
			require.NoError(t, s.Edit(t.Context(), second, part("second, changed")))
			if got := s.Scopes(progressive.Post)[0]; got != progressive.Scope(fmt.Sprint("telegram.group/", now.ID)) {
				t.Errorf("scope %s", got)
			}
			if !told {
				r.run(r.bot)
			}
			wait(time.Second)
			r.Say(now, ada, "hello again")
			if m := r.last(); m.Room != room || m.ID == "" || !strings.Contains(string(m.ID), fmt.Sprint(now.ID)) {
				t.Errorf("room %s became %s, message %s", room, m.Room, m.ID)
			}
		}, telegramfake.WithReadAllGroupMessages())
	}
}

// TR-30
func TestTyping(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		chat, s := r.private()
		stays, err := s.Typing(t.Context())
		if err != nil || stays <= 0 || stays > 5*time.Second || len(r.Actions(chat)) != 1 {
			t.Errorf("%v, %v", stays, err)
		}
		s.to.Kind = channel
		if stays, err := s.Typing(t.Context()); stays != 0 || err != nil || r.count("sendChatAction") != 1 {
			t.Errorf("in a channel: %v, %v", stays, err)
		}
	})
}

// TR-02: all topics of a forum spend one budget.
func TestScopes(t *testing.T) {
	bot := newBot("77:AAFakeFakeFakeFakeFakeFakeFakeFake_0", "", nil)
	budgets := new(configtest.Defaults[Config](Section())).Budgets()
	for _, c := range []struct {
		to   address
		op   progressive.Op
		want string
	}{
		{address{Chat: 5, Kind: private}, progressive.Post, "[telegram.private/5 telegram.bot/77]"},
		{address{Chat: 5, Kind: private}, progressive.Edit, "[telegram.private/5 telegram.bot/77]"},
		{address{Chat: -5, Topic: 1, Kind: supergroup}, progressive.Typing, "[telegram.group/-5 telegram.bot/77]"},
		{address{Chat: -5, Topic: 2, Kind: supergroup}, progressive.Edit, "[telegram.group/-5 telegram.bot/77]"},
		{address{Chat: -7, Kind: channel}, progressive.Delete, "[telegram.group/-7 telegram.bot/77]"},
	} {
		got := (&sink{telegram: bot, to: c.to}).Scopes(c.op)
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v %v: %v", c.to, c.op, got)
		}
		for _, scope := range got {
			kind, _, _ := strings.Cut(string(scope), "/")
			if b, ok := budgets[kind]; !ok || b.N == 0 || b.Per == 0 {
				t.Errorf("no budget for %s", scope)
			}
		}
	}
}

func TestOpen(t *testing.T) {
	bot := newBot(telegramfake.DefaultToken, "", nil)
	for _, own := range []string{"", "{}", "nonsense", `{"chat":5}`, `{"chat":0,"kind":"private"}`, `{"chat":5,"kind":"x"}`} {
		if _, err := bot.Open(t.Context(), chat.Address{ConnectorData: []byte(own)}); !errors.Is(err, chat.ErrUnreached) {
			t.Errorf("%q: %v", own, err)
		}
	}
}

// SE-21, I11: a link to a user is shown without a notification; only the asking user can be mentioned by name.
func TestMentions(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada, eve := r.AddUser("Ada", "ada"), r.AddUser("Eve", "eve")
		group := r.AddSupergroup("Group", false)
		r.run(r.bot)
		s := r.ask(group, ada, "@"+r.Bot().Username+" hello")
		id := r.post(s, fmt.Sprintf("@ada, not @eve or [her](tg://user?id=%d)", eve.ID))
		require.NoError(t, s.Edit(t.Context(), id, s.Render(view("@ada_ and @Ada: @**eve** again"))[0]))
		if got := r.Pings(); len(got) != 2 || got[0].User != ada.ID || got[1].User != ada.ID { // as @ada and as @Ada
			t.Errorf("pings %+v", got)
		}
		a := r.last().Address
		a.ReplyTo = "" // not a reply
		r.post(r.open(a), "hello @ada")
		if got := r.Pings(); len(got) != 2 {
			t.Errorf("unasked: pings %+v; want 2", got)
		}
	})
}
