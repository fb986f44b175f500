package telegram

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"parley/connectors/telegram/telegramfake"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// crowd are so many chats with a message that has buttons.
func (r *botHarness) crowd(chats int) (all []telegramfake.Message, by []telegramfake.User) {
	for n := range chats {
		u := r.AddUser(fmt.Sprint("Person ", n), fmt.Sprint("person", n))
		s := newSink(r.bot, address{Chat: r.AddPrivate(u).ID, Message: 1, Kind: private})
		v := view("Let Eve in?")
		v.Choices, v.Outcome = offer, answer.Outcome{Status: answer.Completed, Offer: offer}
		if _, err := s.Post(r.t.Context(), s.Render(v)[0], ""); err != nil {
			r.t.Fatal(err)
		}
		all, by = append(all, r.Messages(telegramfake.Chat{ID: u.ID})[0]), append(by, u)
	}
	return all, by
}

// takes has the handler take every choice, which is not confirmed before.
func (r *botHarness) takes() (choices *atomic.Int64) {
	n := &atomic.Int64{}
	r.Choose = func(context.Context, chat.Choice) (chat.Accepted, error) {
		if len(r.Unconfirmed()) == 0 {
			r.t.Error("a press was confirmed before it was stored; want it unconfirmed")
		}
		n.Add(1)
		return chat.Accepted{}, nil
	}
	return n
}

// TR-34: 900 presses whose answers take 100 ms each do not delay other updates. They are answered by a few requests at a time, in order within
// a chat.
func TestPressesHoldNobodyUp(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		const chats, presses = 9, 100
		messages, people := r.crowd(chats)
		bob := r.AddUser("Bob", "bob")
		chat := r.AddPrivate(bob)
		r.Fault(telegramfake.Fault{Method: "answerCallbackQuery", Times: -1, DelayAnswer: 100 * time.Millisecond})
		chosen := r.takes()
		in := map[string]int64{}
		for range presses {
			for i, m := range messages {
				in[r.Press(m, people[i], offer.ID+":1")] = m.Chat
			}
		}
		r.Say(chat, bob, "hello")
		r.run(r.bot)
		wait(time.Second)
		r.want("hello")
		if chosen.Load() != chats*presses {
			t.Errorf("%d choices are taken", chosen.Load())
		}
		wait(15 * time.Second)
		last := map[int64]int{}
		for _, a := range r.CallbackAnswers() {
			var n int
			if _, err := fmt.Sscanf(a.QueryID, "cq%d", &n); err != nil || n < last[in[a.QueryID]] {
				t.Errorf("%s is answered after cq%d of its chat", a.QueryID, last[in[a.QueryID]])
			}
			last[in[a.QueryID]] = n
		}
		if n := len(r.CallbackAnswers()); n != chats*presses {
			t.Errorf("%d presses are answered", n)
		}
		if n := r.atOnce("answerCallbackQuery"); n < 2 || n > answerWorkers {
			t.Errorf("%d answers are under way at once", n)
		}
	}, telegramfake.WithoutFlood())
}

// atOnce is how many requests of a method were under way together.
func (r *botHarness) atOnce(method string) (most int) {
	log := slices.DeleteFunc(r.Log(), func(q telegramfake.Request) bool { return q.Method != method })
	for _, q := range log {
		n := 0
		for _, o := range log {
			if !o.At.After(q.At) && o.Ended.Add(100*time.Millisecond).After(q.At) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TR-34: an answer that comes too late is not sent, and no more than the bound wait; each choice is taken all the same.
func TestPressesExpire(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		const presses = mostAnswers + 200
		messages, people := r.crowd(1)
		r.Fault(telegramfake.Fault{Method: "answerCallbackQuery", Times: -1, DelayAnswer: 100 * time.Millisecond})
		chosen := r.takes()
		for range presses {
			r.Press(messages[0], people[0], offer.ID+":1")
		}
		r.run(r.bot)
		wait(answerLife + time.Second)
		answered := r.count("answerCallbackQuery")
		if chosen.Load() != presses || answered < 250 || answered > 301 {
			t.Errorf("%d choices are taken, %d answered", chosen.Load(), answered)
		}
		wait(time.Minute)
		if n := r.count("answerCallbackQuery"); n != answered {
			t.Errorf("%d more are answered later", n-answered)
		}
		r.Press(messages[0], people[0], offer.ID+":1")
		wait(time.Second)
		if n := r.count("answerCallbackQuery"); n != answered+1 {
			t.Error("the next press is not answered")
		}
	}, telegramfake.WithoutFlood())
}

// TR-34: the server's wish for a pause is heard, for all presses.
func TestPressesPause(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		messages, people := r.crowd(3)
		r.takes()
		r.Fault(telegramfake.Fault{Method: "answerCallbackQuery", Status: http.StatusTooManyRequests,
			Body: `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 5","parameters":{"retry_after":5}}`})
		r.run(r.bot)
		r.Press(messages[0], people[0], offer.ID+":1")
		wait(time.Second)
		r.Press(messages[1], people[1], offer.ID+":1")
		r.Press(messages[2], people[2], offer.ID+":1")
		wait(3 * time.Second)
		if n := r.count("answerCallbackQuery"); n != 1 {
			t.Errorf("%d answers during the pause", n-1)
		}
		wait(2 * time.Second)
		if n := len(r.CallbackAnswers()); n != 2 {
			t.Errorf("%d presses are answered after the pause; want 2", n)
		}
	}, telegramfake.WithoutFlood())
}

// TR-34: a stop sends what can be sent within moments, and waits no longer.
func TestPressesAtAStop(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		messages, people := r.crowd(1)
		r.Fault(telegramfake.Fault{Method: "answerCallbackQuery", Times: -1, DelayAnswer: 100 * time.Millisecond})
		r.takes()
		stop := r.run(r.bot)
		for range 90 {
			r.Press(messages[0], people[0], offer.ID+":1")
		}
		wait(50 * time.Millisecond)
		stopped := time.Now()
		require.NoError(t, stop())
		if d := time.Since(stopped); d > byeTime+time.Second {
			t.Errorf("the stop took %v", d)
		}
		if n := len(r.CallbackAnswers()); n < 25 || n > 32 {
			t.Errorf("%d presses are answered; want at least 25 and at most 32", n)
		}
	}, telegramfake.WithoutFlood())
}

// TR-34: a press does not overtake what its chat waits for.
func TestPressesStayInOrder(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		messages, people := r.crowd(2)
		r.RefuseAll(errDown)
		chosen := r.takes()
		r.Say(telegramfake.Chat{ID: messages[0].Chat}, people[0], "one")
		r.Press(messages[0], people[0], offer.ID+":1")
		r.Press(messages[1], people[1], offer.ID+":1")
		r.run(r.bot)
		if chosen.Load() != 1 {
			t.Errorf("%d choices are taken, want that of the other chat", chosen.Load())
		}
		r.Refuse(nil)
		wait(keptWait)
		r.want("one")
		if chosen.Load() != 2 {
			t.Errorf("%d choices are taken; want 2", chosen.Load())
		}
	}, telegramfake.WithoutFlood())
}
