package telegramfake_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/telegram/telegramfake"
)

// TR-17: offset confirms, a negative one forgets, at most 100 come.
func TestUpdatesAreConfirmedByOffset(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		chat := b.AddPrivate(ann)
		for i := range 120 {
			b.Say(chat, ann, number(int64(i)))
		}
		all := b.updates(nil)
		if len(all) != 100 || all[99].ID != all[0].ID+99 {
			t.Fatalf("got %d updates, ids %d to %d", len(all), all[0].ID, all[len(all)-1].ID)
		}
		if again := b.updates(params{"limit": 1}); again[0].ID != all[0].ID {
			t.Errorf("unconfirmed update did not come again: %d", again[0].ID)
		}
		rest := b.updates(params{"offset": all[99].ID + 1})
		if len(rest) != 20 || len(b.Unconfirmed()) != 20 {
			t.Errorf("after confirming 100: %d told, %d kept; want 20 and 20", len(rest), len(b.Unconfirmed()))
		}
		if last := b.texts(params{"offset": -3}); !slices.Equal(last, []string{"117", "118", "119"}) {
			t.Errorf("negative offset: %v", last)
		}
		if n := len(b.Unconfirmed()); n != 3 {
			t.Errorf("negative offset left %d; want 3", n)
		}
		b.clean()
	})
}

func TestLongPollWaits(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		chat := b.AddPrivate(ann)
		if d := elapsed(func() { b.updates(params{"timeout": 500}) }); d != 50*time.Second {
			t.Errorf("an empty poll lasted %v", d)
		}
		time.AfterFunc(7*time.Second, func() { b.Say(chat, ann, "hi") })
		var got []string
		if d := elapsed(func() { got = b.texts(params{"timeout": 50}) }); d != 7*time.Second || !slices.Equal(got, []string{"hi"}) {
			t.Errorf("poll ended after %v with %v", d, got)
		}
	})
}

// A kind of update that was not requested neither wakes a poll nor is queued (TR-22).
func TestAllowedUpdatesAreRemembered(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		chat := b.AddPrivate(ann)
		b.updates(params{"allowed_updates": []string{"edited_message"}})
		m := b.Say(chat, ann, "one")
		b.UserEdit(m, "two")
		b.updates(params{"limit": 5})
		got := b.updates(nil)
		if len(got) != 1 || got[0].Edited == nil || got[0].Edited.Text != "two" || got[0].Edited.Edited == 0 {
			t.Fatalf("got %+v", got)
		}
		b.updates(params{"allowed_updates": []string{}})
		b.Say(chat, ann, "three")
		if got := b.texts(nil); !slices.Equal(got, []string{"three"}) {
			t.Errorf("an empty list is the default again: %v", got)
		}
		b.clean()
		b.call("getUpdates", params{"allowed_updates": []string{"messages"}})
		if len(b.Rejected()) != 1 {
			t.Error("an unknown kind was accepted")
		}
	})
}

func TestUpdatesExpire(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		chat := b.AddPrivate(ann)
		m := b.Say(chat, ann, "old")
		b.Press(m, ann, "x")
		time.Sleep(151 * time.Second)
		if n := len(b.Unconfirmed()); n != 1 {
			t.Errorf("%d updates after 151 s; the callback query should be gone", n)
		}
		time.Sleep(24*time.Hour - 152*time.Second)
		if n := len(b.updates(nil)); n != 1 {
			t.Errorf("%d updates a second before a day is over; want 1", n)
		}
		time.Sleep(time.Second)
		if n := len(b.updates(nil)); n != 0 {
			t.Errorf("%d updates after a day; want none", n)
		}
	})
}

// TR-18: after an idle week ids restart lower, and the old offset does not hide them.
func TestIdleWeekRestartsIDs(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		chat := b.AddPrivate(ann)
		b.Say(chat, ann, "before")
		last := b.updates(nil)[0].ID
		time.Sleep(8 * 24 * time.Hour)
		b.updates(params{"offset": last + 1})
		b.Say(chat, ann, "after")
		got := b.updates(params{"offset": last + 1})
		if len(got) != 1 || got[0].ID >= last || got[0].Message.Text != "after" {
			t.Errorf("last id %d, then %+v", last, got)
		}
	}, telegramfake.WithIdleJump())
}

// TR-19: the older of two polls loses, at once or, soon after another conflict, three seconds later.
func TestTwoPollersConflict(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		type end struct {
			code  int
			after time.Duration
		}
		poll := func() <-chan end {
			c, start := make(chan end, 1), time.Now()
			go func() {
				a, _ := b.try("getUpdates", params{"timeout": 50})
				c <- end{a.ErrorCode, time.Since(start)}
			}()
			synctest.Wait()
			return c
		}
		first, second, third := poll(), poll(), poll()
		if e := <-first; e != (end{409, 0}) {
			t.Errorf("first: %+v", e)
		}
		if e := <-second; e != (end{409, 3 * time.Second}) {
			t.Errorf("second: %+v", e)
		}
		if e := <-third; e != (end{0, 50 * time.Second}) {
			t.Errorf("third: %+v", e)
		}
	})
}

func TestWebhookExcludesPolling(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		b.refused(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook", "setWebhook", params{"url": "http://x"})
		b.ok("setWebhook", params{"url": "https://bot.example/hook", "secret_token": "s"})
		b.ok("getWebhookInfo", nil)
		const busy = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
		if d := elapsed(func() { b.refused(409, busy, "getUpdates", nil) }); d != 0 {
			t.Errorf("the first conflict took %v; want none", d)
		}
		if d := elapsed(func() { b.refused(409, busy, "getUpdates", nil) }); d != 3*time.Second {
			t.Errorf("the second conflict took %v", d)
		}
		ann := b.AddUser("Ann", "ann")
		b.Say(b.AddPrivate(ann), ann, "waits")
		b.ok("deleteWebhook", params{"drop_pending_updates": true})
		if n := len(b.updates(nil)); n != 0 || b.Webhook() != "" {
			t.Errorf("%d updates, webhook %q; want none and none", n, b.Webhook())
		}
	})
}

func TestWebhookEndsAPoll(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ended := make(chan answer, 1)
		go func() {
			a, _ := b.try("getUpdates", params{"timeout": 50})
			ended <- a
		}()
		synctest.Wait()
		b.ok("setWebhook", params{"url": "https://bot.example/hook", "allowed_updates": []string{"message"}})
		if a := <-ended; a.ErrorCode != 409 || a.Description != "Conflict: terminated by setWebhook request" {
			t.Errorf("%+v", a)
		}
	})
}

// A client that goes away leaves no poll behind; the next one is no second poller.
func TestAbandonedPollEnds(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "POST", "http://api/bot"+b.Token()+"/getUpdates",
			strings.NewReader("timeout=50"))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if _, err := b.http.Do(req); err == nil {
			t.Fatal("the request got a response; want it cut")
		}
		synctest.Wait()
		b.updates(params{"timeout": 5})
		if l := b.Log(); l[0].Applied || l[1].Status != 200 {
			t.Errorf("%+v", l)
		}
	})
}

func TestRedeliver(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		ann := b.AddUser("Ann", "ann")
		b.Say(b.AddPrivate(ann), ann, "hi")
		id := b.updates(nil)[0].ID
		b.updates(params{"offset": id + 1})
		b.Redeliver(id)
		if got := b.updates(params{"offset": id + 1}); len(got) != 1 || got[0].ID != id {
			t.Errorf("got %+v", got)
		}
		if got := b.updates(params{"offset": id + 1}); len(got) != 0 || len(b.Updates()) != 1 {
			t.Errorf("got %+v", got)
		}
		b.Say(telegramfake.Chat{ID: ann.ID}, ann, "twice")
		b.Fault(telegramfake.Fault{Method: "getUpdates", Duplicate: true})
		if got := b.texts(params{"offset": id + 1}); !slices.Equal(got, []string{"twice", "twice"}) {
			t.Errorf("got %v", got)
		}
	})
}

// What the server tells is what the specification describes.
func TestUpdatesFollowTheSpecification(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		if b.spec == nil {
			t.Skip("SKIPPED: set PARLEY_SPECS to the directory with " + telegramfake.SpecFile)
		}
		ann, bob := b.AddUser("Ann", "ann"), b.AddUser("Bob", "")
		dm, old, forum := b.AddPrivate(ann), b.AddGroup("old"), b.AddSupergroup("forum", true)
		topic := b.AddTopic(forum, "news")
		m := b.Say(dm, ann, "/start hi @parley_bot https://a.example x@y.example")
		b.Say(dm, ann, "again", telegramfake.ReplyTo(m.ID))
		b.Say(forum, bob, "hello Parley", telegramfake.InTopic(topic), telegramfake.MentionBot("Parley"))
		b.Press(m, ann, "yes")
		b.Kick(forum, ann)
		b.JoinBot(forum, ann)
		b.Block(ann)
		b.Unblock(ann)
		b.Migrate(old)
		for _, u := range b.Updates() {
			if err := b.spec.CheckValue("Update", json.RawMessage(u.Body)); err != nil {
				t.Errorf("%v\n%s", err, u.Body)
			}
		}
		if len(b.Updates()) < 11 {
			t.Errorf("%d updates; want at least 11", len(b.Updates()))
		}
	})
}
