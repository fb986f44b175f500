package progressive_test

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/subtest"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// outage makes each request to a chat fail until it is over.
func outage(c *progressivetest.Chat, err error, over time.Time) {
	c.ChangeFate(func(before func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
		return func(r progressivetest.Request) progressivetest.Fault {
			if time.Now().Before(over) {
				return progressivetest.Fault{Err: err}
			}
			if before == nil {
				return progressivetest.Fault{}
			}
			return before(r)
		}
	})
}

// After an outage of ten minutes, the answers of all chats of a bot are complete as soon as the first of them has found out that the platform
// works again, and not each after its own pause of up to a minute.
func TestAllChatsRecover(t *testing.T) {
	const chats = 20
	for name, err := range map[string]error{"no connection": progressive.ErrUnsent, "no response": progressive.ErrAmbiguous} {
		for sinks, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": noncedResending, "repetitions": resending} {
			t.Run(name+", "+sinks, subtest.Of(synctest.Test, func(t *testing.T) {
				over := time.Now().Add(10 * time.Minute)
				var recovery progressive.Recovery
				ends := make(chan time.Time, chats)
				for i := range chats {
					room := progressivetest.NewChat()
					outage(room, err, over)
					run := chat.Run{ID: chat.RunID(fmt.Sprint("run", i)), Opened: time.Now()}
					m := progressive.New(sink(room), progressive.NewGate(room.Budget), run, slog.New(slog.DiscardHandler), progressive.WithRecovery(&recovery))
					a := &answer.Answer{}
					go func() {
						room.Open()
						time.Sleep(time.Duration(i) * 1700 * time.Millisecond) // so that their pauses end at different times
						a.Apply(answer.Change{Kind: answer.Text, Text: prose})
						a.End(answer.Outcome{Status: answer.Completed})
						if err := m.Show(t.Context(), a, func(chat.Shown) error { return nil }); err != nil {
							t.Errorf("answer %d ended with %v; want no error", i, err)
						}
						room.Close()
						ends <- time.Now()
					}()
				}
				first, last := <-ends, time.Time{}
				for range chats - 1 {
					last = <-ends
				}
				if first.Before(over) {
					t.Errorf("an answer ended %v before the end of the outage", over.Sub(first))
				}
				if late := last.Sub(first); late > 10*time.Second {
					t.Errorf("the last answer was complete %v after the first; want at once", late)
				}
			}))
		}
	}
}

// A chat whose requests fail while those of others succeed keeps its own pauses: it would otherwise use up its attempts.
func TestBrokenChatIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var recovery progressive.Recovery
		broken := progressivetest.NewChat()
		outage(broken, progressive.ErrUnsent, time.Now().Add(5*time.Minute))
		stop := make(chan struct{})
		busy := make(chan struct{})
		go func() { // another chat, with an answer a second
			defer close(busy)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Second):
				}
				room := progressivetest.NewChat()
				m := progressive.New(full(room), progressive.NewGate(room.Budget), chat.Run{ID: chat.RunID(fmt.Sprint("busy", i))}, slog.New(slog.DiscardHandler), progressive.WithRecovery(&recovery))
				a := &answer.Answer{}
				a.Apply(answer.Change{Kind: answer.Text, Text: prose})
				a.End(answer.Outcome{Status: answer.Completed})
				if err := m.Show(t.Context(), a, func(chat.Shown) error { return nil }); err != nil {
					t.Errorf("an answer in another chat ended with %v", err)
				}
			}
		}()
		a := &answer.Answer{}
		a.Apply(answer.Change{Kind: answer.Text, Text: prose})
		a.End(answer.Outcome{Status: answer.Completed})
		m := progressive.New(full(broken), progressive.NewGate(broken.Budget), chat.Run{ID: "run"}, slog.New(slog.DiscardHandler), progressive.WithRecovery(&recovery))
		if err := m.Show(t.Context(), a, func(chat.Shown) error { return nil }); err != nil {
			t.Errorf("the answer ended with %v; want no error", err)
		}
		close(stop)
		<-busy
		if n := len(broken.Log()); n > 20 {
			t.Errorf("%d requests to a chat that fails for five minutes; want at most 20", n)
		}
	})
}
