package telegram

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley/connectors/telegram/telegramfake"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/subtest"
)

var errDown = errors.New("the store is down")

func TestHandsOverInOrder(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		chat := r.AddPrivate(ada)
		r.Say(chat, ada, "before the start")
		stop := r.run(r.bot)
		r.Say(chat, ada, "one")
		r.Say(chat, ada, "/stop")
		r.Say(chat, ada, "two")
		r.want("before the start", "one", "/stop", "two")
		if err := stop(); err != nil {
			t.Errorf("Run returned %v", err)
		}
		if left := r.Unconfirmed(); len(left) > 0 {
			t.Errorf("a stop leaves %d updates unconfirmed; want none", len(left))
		}
	})
}

// What was taken just before the end is confirmed, what came behind it is not.
func TestEndConfirms(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		room := r.AddPrivate(ada)
		ctx, cancel := context.WithCancel(t.Context())
		r.Refuse(func(in chat.Inbound) error {
			if in.(chat.Message).Text == "two" {
				cancel()
				return context.Canceled
			}
			return nil
		})
		for _, text := range []string{"one", "two", "three"} {
			r.Say(room, ada, text)
		}
		if err := r.bot.Run(ctx, r.Handle); err != nil {
			t.Errorf("Run returned %v", err)
		}
		r.want("one")
		if n := len(r.Unconfirmed()); n != 2 {
			t.Errorf("%d updates wait, want 2", n)
		}
	})
}

// TR-17: what was not taken is not confirmed; it comes again, here and in the next process.
func TestKeepsWhatIsNotTaken(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		room := r.AddPrivate(ada)
		r.RefuseAll(errDown)
		stop := r.run(r.bot)
		r.Say(room, ada, "one")
		r.Say(room, ada, "two")
		wait(30 * time.Second)
		r.want()
		if n := r.count("getUpdates"); n > 12 {
			t.Errorf("%d polls in 30 s; want at most 12", n)
		}
		if !strings.Contains(r.log.String(), "level=ERROR") {
			t.Error("the log has no error for the operator; want one")
		}
		stop() // as a crash would
		if n := len(r.Unconfirmed()); n != 2 {
			t.Fatalf("%d updates wait, want 2", n)
		}
		r.Refuse(nil)
		r.run(r.another())
		r.want("one", "two")
	})
}

// TR-17, IN-01: a crash after the message was stored, and before that was confirmed.
func TestComesAgainAfterACrash(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		room := r.AddPrivate(ada)
		r.run(r.bot)
		r.Say(room, ada, "one")
		first := r.last()
		wait(time.Minute)
		r.Redeliver(r.Updates()[0].ID)
		wait(time.Second)
		r.Say(room, ada, "two")
		r.want("one", "one", "two")
		again := r.Events()[1].(chat.Message)
		if again.ID != first.ID || again.Room != first.Room {
			t.Errorf("came as %q, and again as %q", first.ID, again.ID)
		}
	})
}

// One room that can't be stored does not stop the others, and keeps its own order.
func TestOneRoomDoesNotStopOthers(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada, bob := r.AddUser("Ada", "ada"), r.AddUser("Bob", "bob")
		bad, good := r.AddPrivate(ada), r.AddPrivate(bob)
		r.RefuseText("a1", errDown)
		r.Say(bad, ada, "a1")
		r.Say(good, bob, "b1")
		r.Say(bad, ada, "a2")
		r.Say(good, bob, "b2")
		r.run(r.bot)
		wait(30 * time.Second)
		r.want("b1", "b2")
		r.Refuse(nil)
		wait(time.Minute)
		r.want("b1", "b2", "a1", "a2")
	})
}

func TestGivesUpWhatAloneFails(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada, bob := r.AddUser("Ada", "ada"), r.AddUser("Bob", "bob")
		bad, good := r.AddPrivate(ada), r.AddPrivate(bob)
		r.RefuseText("poison", errDown)
		r.Say(bad, ada, "poison")
		r.run(r.bot)
		wait(time.Hour)
		if len(r.Unconfirmed()) != 1 {
			t.Fatal("an update that blocked no other was dropped; want it retried")
		}
		r.Say(good, bob, "hello")
		r.Say(bad, ada, "me too")
		wait(time.Minute)
		r.want("hello", "me too")
		wait(time.Minute)
		if n := len(r.Unconfirmed()); n != 0 {
			t.Errorf("%d updates still wait", n)
		}
	})
}

func TestSkipsWhatItCannotRead(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		body := `{"ok":true,"result":[{"update_id":7,"message":{"message_id":"no number"}},` +
			`{"update_id":8,"message":{"message_id":1,"date":1,"text":"hi","from":{"id":5,"first_name":"Ada"},` +
			`"chat":{"id":5,"type":"private"}}},{"update_id":9,"poll":{}},{"update_id":10,"invented_later":{"of":[1,"x"]}},` +
			`{"update_id":11,"subscription":{"user":{"id":5,"is_bot":false,"first_name":"Ada"},"invoice_payload":"x","state":"active"}},{"update_id":"x"}]}`
		r.Fault(telegramfake.Fault{Method: "getUpdates", Status: 200, Body: body})
		wait(time.Minute)
		r.want("hi")
		if !strings.Contains(r.log.String(), "update=7") {
			t.Error("the log does not name the update that was skipped; want update=7")
		}
	})
}

// TR-18: after a week without updates their numbers start again, lower.
func TestNumbersStartAgain(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		chat := r.AddPrivate(ada)
		r.run(r.bot)
		r.Say(chat, ada, "one")
		r.want("one")
		wait(8 * 24 * time.Hour)
		if got := r.final("getUpdates").Params["offset"]; got != "0" {
			t.Errorf("still asks from %s on", got)
		}
		r.Say(chat, ada, "two")
		r.Say(chat, ada, "three")
		r.want("one", "two", "three")
		if all := r.Updates(); all[1].ID >= all[0].ID {
			t.Fatalf("the numbers went on: %d, %d", all[0].ID, all[1].ID)
		}
		wait(2 * time.Minute)
		r.want("one", "two", "three")
		if n := len(r.Unconfirmed()); n != 0 {
			t.Errorf("%d unconfirmed; want none", n)
		}
	}, telegramfake.WithIdleJump(), telegramfake.WithSeed(3))
}

// TR-19
func TestConflicts(t *testing.T) {
	const other = `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request; ` +
		`make sure that only one bot instance is running"}`
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		chat := r.AddPrivate(ada)
		r.Fault(telegramfake.Fault{Method: "getUpdates", Times: 2, Status: 409, Body: other})
		r.run(r.bot)
		r.Say(chat, ada, "one")
		wait(10 * time.Second)
		r.want("one")

		begun := r.count("getUpdates")
		r.Fault(telegramfake.Fault{Method: "getUpdates", Times: -1, Status: 409, Body: other})
		wait(10 * time.Minute)
		if n := r.count("getUpdates") - begun; n < 8 || n > 40 {
			t.Errorf("%d tries in ten minutes; want at least 8 and at most 40", n)
		}
		if !strings.Contains(r.log.String(), "another process is fetching") {
			t.Error("the operator does not learn why nothing arrives")
		}
		r.ClearFaults()
		r.Say(chat, ada, "two")
		wait(time.Minute)
		r.want("one", "two")
	})
}

// TR-19: a webhook is removed, at the start and later, and what waits is kept.
func TestWebhookIsRemoved(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		chat := r.AddPrivate(ada)
		r.hook()
		r.Say(chat, ada, "one")
		r.run(r.bot)
		r.want("one")
		r.hook()
		r.Say(chat, ada, "two")
		wait(2 * time.Minute)
		r.want("one", "two")
		if r.Webhook() != "" {
			t.Error("the webhook is still set; want it removed")
		}
	})
}

func (r *botHarness) hook() {
	r.t.Helper()
	var done bool
	require.NoError(r.t, r.bot.client.call(r.t.Context(), "setWebhook", map[string]string{"url": "https://example.org/secret"}, &done))
}

func TestServerFaults(t *testing.T) {
	for name, f := range map[string]telegramfake.Fault{
		"502 page":     {Times: 3, Status: 502},
		"dropped":      {Times: 3, Drop: true},
		"half":         {Times: 3, Half: true},
		"no json":      {Times: 3, Status: 200, Body: "hello"},
		"500":          {Times: 3, Status: 500, Body: `{"ok":false,"error_code":500,"description":"Internal Server Error"}`},
		"twice":        {Times: -1, Duplicate: true},
		"never answer": {Times: 1, Delay: time.Hour},
	} {
		for _, method := range []string{"getMe", "getUpdates"} {
			t.Run(name+" "+method, subtest.Plain(withBot, func(t *testing.T, r *botHarness) {
				ada := r.AddUser("Ada", "ada")
				chat := r.AddPrivate(ada)
				f.Method = method
				r.Fault(f)
				r.run(r.bot)
				r.Say(chat, ada, "one")
				wait(3 * time.Minute)
				r.want("one")
			}))
		}
	}
}

// TR-03: the server's word on when to come back is kept.
func TestPollIsToldToWait(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.Fault(telegramfake.Fault{Method: "getUpdates", RetryAfter: 120})
		r.run(r.bot)
		wait(119 * time.Second)
		if n := r.count("getUpdates"); n != 1 {
			t.Errorf("%d polls before the time; want 1", n)
		}
		wait(2 * time.Second)
		if n := r.count("getUpdates"); n != 2 {
			t.Errorf("%d polls; want 2", n)
		}
	})
}

// TR-30: a rejected token ends everything at once, whichever request got the rejection.
func TestRefusedToken(t *testing.T) {
	const unauthorized = `{"ok":false,"error_code":401,"description":"Unauthorized"}`
	for _, method := range []string{"getMe", "getUpdates", "sendMessage"} {
		t.Run(method, subtest.Plain(withBot, func(t *testing.T, r *botHarness) {
			_, s := r.private()
			ended := make(chan error, 1)
			go func() { ended <- r.bot.Run(t.Context(), r.Handle) }()
			wait(time.Second)
			r.Fault(telegramfake.Fault{Method: method, Times: -1, Status: 401, Body: unauthorized})
			if method == "getMe" {
				go func() { ended <- r.another().Run(t.Context(), r.Handle) }()
			} else if _, err := s.Post(t.Context(), part("hi"), ""); method == "sendMessage" && err == nil {
				t.Error("the post succeeded with a refused token; want an error")
			}
			wait(2 * time.Minute)
			select {
			case err := <-ended:
				wantFatal(t, err)
				if !strings.Contains(err.Error(), "@BotFather") {
					t.Errorf("no next step: %v", err)
				}
			default:
				t.Fatal("Run still polls with a refused token; want it to return")
			}
			if method == "getMe" {
				return
			}
			before := len(r.Log())
			_, _ = s.Typing(t.Context())
			if len(r.Log()) != before {
				t.Error("a request with a refused token")
			}
		}))
	}
}

func TestTokenForm(t *testing.T) {
	for _, token := range []string{"", "abc", "987654321", "987654321:short", "x:AAFakeFakeFakeFakeFakeFakeFakeFake_0", "1:AAFakeFakeFakeFakeFakeFake/../getMe"} {
		bot := newBot(token, "", nil)
		err := bot.Run(context.Background(), nil)
		wantFatal(t, err)
		if _, check := bot.Check(context.Background()); check == nil || check.Error() != err.Error() {
			t.Errorf("check of %q: %v", token, check)
		}
		if token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("%q repeats the token", err)
		}
	}
}

// TR-22: each poll names the kinds that have a handler, and no others.
func TestAllowedUpdates(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		const want = `["message","channel_post","edited_message","message_reaction","my_chat_member","chat_member","callback_query","business_connection"]`
		if got := r.final("getUpdates").Params["allowed_updates"]; got != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
		ada := r.AddUser("Ada", "ada")
		chat := r.AddPrivate(ada)
		m := r.Say(chat, ada, "one")
		r.UserEdit(m, "one, changed")
		r.Block(ada)
		r.Press(m, ada, "x")
		wait(time.Minute)
		r.want("one", "edited: one, changed")
		if all := r.Updates(); len(all) != 4 {
			t.Errorf("%d updates were made; want 4", len(all))
		}
		if log := r.log.String(); !strings.Contains(log, "status=kicked") {
			t.Error("an update had no handler")
		}
	})
}

// TR-27
func TestSaysWhoItIs(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		for _, want := range []string{"https://t.me/parley_bot", "/setprivacy"} {
			if !strings.Contains(r.log.String(), want) {
				t.Errorf("the log lacks %s", want)
			}
		}
		found, err := r.another().Check(t.Context())
		if err != nil || !strings.Contains(found.Text, "https://t.me/parley_bot") || !strings.Contains(found.NotReceived, "/setprivacy") {
			t.Errorf("%q, %v", found, err)
		}
	})
	withBot(t, func(t *testing.T, r *botHarness) {
		r.hook()
		found, err := r.bot.Check(t.Context())
		if err != nil || found.NotReceived != "" || !strings.Contains(found.Text, "webhook") {
			t.Errorf("%q, %v", found, err)
		}
		if r.Webhook() == "" {
			t.Error("a check changes nothing")
		}
		stranger := newBot("1:AAFakeFakeFakeFakeFakeFakeFakeFake_0", "http://"+site, r.net.Dial)
		if _, err := stranger.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "@BotFather") {
			t.Errorf("a wrong token: %v", err)
		}
		lost := newBot(r.Token(), "http://unreachable.test", r.net.Dial)
		if _, err := lost.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "api_url") {
			t.Errorf("a wrong address: %v", err)
		}
	}, telegramfake.WithReadAllGroupMessages())
}

// IN-12: an edit is handed over as one, of the memory that the message is, in order.
func TestEdits(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		room := r.AddPrivate(ada)
		r.run(r.bot)
		m := r.Say(room, ada, "one")
		first := r.last()
		r.Refuse(func(in chat.Inbound) error {
			if _, edit := in.(chat.Edited); edit {
				return errDown
			}
			return nil
		})
		r.UserEdit(m, "one, changed")
		r.Say(room, ada, "two")
		wait(30 * time.Second)
		r.want("one")
		r.Refuse(nil)
		wait(30 * time.Second)
		r.want("one", "edited: one, changed", "two")
		want := first.Memory
		want.Text = "one, changed"
		if e := r.Events()[1].(chat.Edited); !reflect.DeepEqual(e.Memory, want) {
			t.Errorf("edited is %+v, want %+v", e.Memory, want)
		}
	})
}
