package telegram

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/config/configtest"
	"parley/connectors/telegram/telegramfake"
	"parley/core/answer"
	"parley/core/chat"
	"parley/progressive"
)

// ST-30: the server refuses the answers of 25 chats at once, with a wait. As soon as that is over, all are sent, and so is the answer to
// a chat that was never refused.
func TestBurstOfRefusals(t *testing.T) {
	for _, seconds := range []int{1, 3, 5, 30} {
		withBot(t, func(t *testing.T, r *botHarness) {
			budgets := new(configtest.Defaults[Config](Section())).Budgets()
			gate := progressive.NewGate(func(s progressive.Scope) progressive.Budget {
				kind, _, _ := strings.Cut(string(s), "/")
				return budgets[kind]
			})
			const chats = 25
			r.Fault(telegramfake.Fault{Method: "sendMessage", RetryAfter: seconds, Times: chats, Delay: 100 * time.Millisecond})
			var mu sync.Mutex
			var shown []time.Time
			var all sync.WaitGroup
			show := func(i int) {
				u := r.AddUser(fmt.Sprint("User", i), fmt.Sprint("user", i))
				s := newSink(r.bot, address{Chat: r.AddPrivate(u).ID, Message: 1, Kind: private})
				a := &answer.Answer{}
				a.Apply(answer.Change{Kind: answer.Text, Text: "Yes."})
				a.End(answer.Outcome{Status: answer.Completed})
				m := progressive.New(s, gate, chat.Run{ID: chat.RunID(fmt.Sprint(i))}, slog.New(slog.DiscardHandler))
				all.Go(func() {
					if err := m.Show(t.Context(), a, func(chat.Shown) error { return nil }); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					shown = append(shown, time.Now())
				})
			}
			begun := time.Now()
			for i := range chats {
				show(i)
			}
			wait(500 * time.Millisecond)
			show(chats)
			all.Wait()
			for _, at := range shown {
				if late := at.Sub(begun) - time.Duration(seconds)*time.Second; late > time.Second {
					t.Errorf("after a wait of %d s an answer is shown %v late", seconds, late)
				}
			}
			if len(shown) != chats+1 {
				t.Errorf("%d answers", len(shown))
			}
		}, telegramfake.WithoutFlood())
	}
}
