package telegramfake_test

import (
	"testing"
	"time"

	"parley/connectors/telegram/telegramfake"
)

// typing spends one of a chat's budget and returns the retry_after, 0 if there was room.
func (b *bot) typing(chat telegramfake.Chat) int {
	b.t.Helper()
	a := b.call("sendChatAction", params{"chat_id": chat.ID, "action": "typing"})
	if !a.OK && (a.Status != 429 || a.RetryHeader != number(int64(a.Parameters.RetryAfter))) {
		b.t.Fatalf("answer: %+v", a)
	}
	return a.Parameters.RetryAfter
}

// TR-01, TR-02: one budget of a chat for all methods and topics; TR-03: where to read how long to wait.
func TestOneBudgetPerChat(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		forum := b.AddSupergroup("forum", true)
		topics := []int{b.AddTopic(forum, "a"), b.AddTopic(forum, "b")}
		for i := range 5 {
			id := b.ok("sendMessage", params{"chat_id": forum.ID, "text": "x", "message_thread_id": topics[i%2]}).message(t).ID
			b.ok("editMessageText", params{"chat_id": forum.ID, "message_id": id, "text": "y"})
			b.typing(forum)
			b.ok("deleteMessage", params{"chat_id": forum.ID, "message_id": id})
			time.Sleep(time.Second)
		}
		a := b.refused(429, "Too Many Requests: retry after 55", "sendMessage", params{"chat_id": forum.ID, "text": "21st"})
		if a.Parameters.RetryAfter != 55 || a.RetryHeader != "55" {
			t.Errorf("%+v", a)
		}
		time.Sleep(55 * time.Second)
		b.send(forum, "room again")
		other := b.AddGroup("other")
		b.send(other, "a budget of its own")
	})
}

func TestPrivateBurst(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		chat := b.AddPrivate(b.AddUser("Ann", "ann"))
		for i := range 60 { // the published rate lasts
			if wait := b.typing(chat); wait != 0 {
				t.Fatalf("request %d: wait %d s; want none", i, wait)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(5 * time.Second)
		for range 5 {
			b.typing(chat)
		}
		if wait := b.typing(chat); wait != 5 {
			t.Errorf("after a burst: wait %d s; want 5", wait)
		}
	})
}

// TR-02: who hammers waits longer and longer; who waits is served.
func TestHammeringGrowsTheHold(t *testing.T) {
	flood := telegramfake.Flood{Private: []telegramfake.Limit{{N: 1, Per: 10 * time.Second}}, MaxHold: time.Minute}
	bubble(t, func(t *testing.T, b *bot) {
		chat := b.AddPrivate(b.AddUser("Ann", "ann"))
		for i, want := range []int{0, 10, 20, 40, 60, 60} {
			if got := b.typing(chat); got != want {
				t.Errorf("request %d: wait %d s, want %d", i, got, want)
			}
		}
		time.Sleep(time.Minute)
		if got := b.typing(chat); got != 0 {
			t.Errorf("after the hold: wait %d s; want none", got)
		}
		early := 0
		for _, r := range b.Log() {
			if r.Early {
				early++
			}
		}
		if early != 4 {
			t.Errorf("%d requests came during a hold (I6), want 4", early)
		}
	}, telegramfake.WithFlood(flood))
}

func TestBotBudget(t *testing.T) {
	bubble(t, func(t *testing.T, b *bot) {
		var chats []telegramfake.Chat
		for range 31 {
			chats = append(chats, b.AddPrivate(b.AddUser("Ann", "")))
		}
		for i, c := range chats {
			if wait := b.typing(c); (wait != 0) != (i == 30) {
				t.Errorf("chat %d: wait %d s", i, wait)
			}
		}
		b.SetFlood(telegramfake.Flood{})
		time.Sleep(time.Second)
		for range 100 {
			if b.typing(chats[0]) != 0 {
				t.Fatal("refused with the budgets off")
			}
		}
	})
}
