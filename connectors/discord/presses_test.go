package discord_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/core/chat"
	"parley/internal/require"
	"parley/progressive"
)

// postInChannels returns messages with buttons in so many channels.
func (w *botHarness) postInChannels(channels int) (messages []string) {
	for i := range channels {
		channel := w.fake.AddChannel(w.guild, fmt.Sprint("room-", i))
		w.fake.Say(channel, w.ann, "ask me", discordfake.MentionBot())
		w.settle()
		require.Value(w.open().Post(w.Context(), progressive.Part{Text: "Which?", Offer: offer}, fmt.Sprint("run/", i)))(w)
		all := w.fake.Messages(channel)
		messages = append(messages, all[len(all)-1].ID)
	}
	return messages
}

// DR-22, TR-34: 900 presses that take 100 ms each hold up neither a message nor a press elsewhere. A bounded number of them is under
// way, every choice is taken, and nothing is answered that Discord has given up.
func TestPressesHoldNobodyUp(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		const channels, presses = 9, 100
		messages := w.postInChannels(channels + 1)
		w.fake.Fault(discordfake.Match{Route: discordfake.AnswerPress, Times: -1}, discordfake.DelayAnswer(100*time.Millisecond))
		var chosen atomic.Int32
		w.Choose = func(context.Context, chat.Choice) (chat.Accepted, error) { chosen.Add(1); return chat.Accepted{}, nil }
		before := runtime.NumGoroutine()
		for range presses {
			for _, m := range messages[:channels] {
				w.fake.Press(m, w.ann, offer.ID+":1")
			}
		}
		bob := w.fake.AddUser("bob")
		w.say("hello")
		w.fake.Press(messages[channels], bob, offer.ID+":1")
		most := 0
		for range 10 {
			w.settle()
			most = max(most, runtime.NumGoroutine()-before)
		}
		if most > 150 { // with those of connections, on both sides
			t.Errorf("%d goroutines run; want at most 150", most)
		}
		if texts := w.texts(); texts[len(texts)-1] != "hello" {
			t.Errorf("heard %q", texts)
		}
		if i := slices.IndexFunc(w.fake.PressAnswers(), func(a discordfake.PressAnswer) bool { return a.User == bob }); i < 0 {
			t.Error("Bob's press in another channel got no response; want one")
		}
		time.Sleep(time.Minute)
		if n := chosen.Load(); n != channels*presses+1 {
			t.Errorf("%d choices are taken", n)
		}
		if n := len(w.fake.PressAnswers()); n < 200 || n > 260 || strings.Contains(w.log.String(), "too late, or by another") {
			t.Errorf("%d presses are answered", n)
		}
	})
}

// DR-22: a press that waits for longer than Discord does is dropped, and its event does not come again.
func TestPressesExpire(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		messages := w.postInChannels(1)
		var chosen atomic.Int32
		w.Choose = func(context.Context, chat.Choice) (chat.Accepted, error) {
			chosen.Add(1)
			time.Sleep(100 * time.Millisecond)
			return chat.Accepted{}, nil
		}
		for range 100 {
			w.fake.Press(messages[0], w.ann, offer.ID+":1")
		}
		time.Sleep(time.Minute)
		if n := chosen.Load(); n < 25 || n > 31 {
			t.Errorf("%d choices are taken in three seconds; want at least 25 and at most 31", n)
		}
		taken := chosen.Load()
		w.restart()
		w.start()
		time.Sleep(time.Minute)
		if n := chosen.Load(); n != taken {
			t.Errorf("%d presses came again", n-taken)
		}
		w.wantLogged("a button press waited too long and is dropped")
	})
}

// DR-02: what Discord refuses because of its limit over all requests does not hold up the answer to a press, which it does not count.
func TestPressesAreNotLimited(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		messages := w.postInChannels(1)
		w.Choose = func(context.Context, chat.Choice) (chat.Accepted, error) { return chat.Accepted{}, nil }
		w.fake.Fault(discordfake.Match{Route: discordfake.CreateMessage}, discordfake.TooManyRequests(discordfake.ScopeGlobal, 10*time.Second))
		if _, err := w.open().Post(w.Context(), part("words"), "run/x"); err == nil {
			t.Fatal("the post succeeded despite the rate limit; want it refused")
		}
		w.fake.Press(messages[0], w.ann, offer.ID+":1")
		w.settle()
		if n := len(w.fake.PressAnswers()); n != 1 {
			t.Errorf("%d presses are answered; want 1", n)
		}
		if _, err := w.open().Post(w.Context(), part("words"), "run/x"); err == nil || w.count(discordfake.CreateMessage) != 2 {
			t.Errorf("a message is sent meanwhile: %v", err)
		}
	})
}

// DR-22: a stop waits for what is under way, and no longer than Discord does.
func TestPressesAtAStop(t *testing.T) {
	withBot(t, func(w *botHarness) {
		w.start()
		messages := w.postInChannels(1)
		w.fake.Fault(discordfake.Match{Route: discordfake.AnswerPress, Times: -1}, discordfake.DelayAnswer(100*time.Millisecond))
		w.Choose = func(context.Context, chat.Choice) (chat.Accepted, error) { return chat.Accepted{}, nil }
		for range 900 {
			w.fake.Press(messages[0], w.ann, offer.ID+":1")
		}
		time.Sleep(50 * time.Millisecond)
		stopped := time.Now()
		w.stop()
		if d := time.Since(stopped); d > 4*time.Second {
			t.Errorf("the stop took %v", d)
		}
	})
}
