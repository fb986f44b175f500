package telegram

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"parley/config/configtest"
	"parley/connectors/telegram/telegramfake"
	"parley/core/answer"
	"parley/core/chat"
	"parley/progressive"
)

// TR-01, TR-02, TR-11, TR-12, I6: an answer that grows in four topics and a private chat at once.
func TestAnswersGrow(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		ada := r.AddUser("Ada", "ada")
		forum, room := r.AddSupergroup("Forum", true), r.AddPrivate(ada)
		sinks := []*sink{r.ask(room, ada, "hello")}
		for i := range 4 {
			sinks = append(sinks, r.ask(forum, ada, "hello", telegramfake.InTopic(r.AddTopic(forum, fmt.Sprint(i)))))
		}
		r.Fault(telegramfake.Fault{Method: "sendMessage", Chat: forum.ID, Nth: 2, ParseError: true})
		r.Fault(telegramfake.Fault{Method: "editMessageText", Chat: room.ID, Nth: 3, Drop: true, Apply: true})
		budgets := new(configtest.Defaults[Config](Section())).Budgets()
		gate := progressive.NewGate(func(s progressive.Scope) progressive.Budget {
			kind, _, _ := strings.Cut(string(s), "/")
			return budgets[kind]
		})
		var words strings.Builder
		answers := make([]*answer.Answer, len(sinks))
		ended := make(chan error, len(sinks))
		for i, s := range sinks {
			a := new(answer.Answer)
			answers[i] = a
			m := progressive.New(s, gate, chat.Run{ID: chat.RunID(fmt.Sprint(i))}, slog.New(slog.NewTextHandler(r.log, nil)))
			go func() { ended <- m.Show(t.Context(), a, func(chat.Shown) error { return nil }) }()
		}
		for n := range 400 {
			word := fmt.Sprintf("word %d ", n)
			if n%10 == 0 {
				word = fmt.Sprintf("**word %d** ", n)
			}
			words.WriteString(word)
			for _, a := range answers {
				a.Apply(answer.Change{Kind: answer.Text, Text: word})
			}
			time.Sleep(100 * time.Millisecond)
		}
		for _, a := range answers {
			a.End(answer.Outcome{Status: answer.Completed})
		}
		for range sinks {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		want := words.String()
		if got := r.answers(room); len(got) != 1 || got[0] != plainOf(want) {
			t.Errorf("private: %q", got)
		}
		if got := r.answers(forum); len(got) != 4 {
			t.Errorf("%d messages in the forum", len(got))
		} else {
			for _, text := range got {
				if text != plainOf(want) {
					t.Errorf("forum: %q", text)
				}
			}
		}
		edits := 0
		for _, q := range r.Log() {
			if q.Early || q.RetryAfter > 0 {
				t.Errorf("%s to %d at %v: early %t, told to wait %d", q.Method, q.Chat, q.At, q.Early, q.RetryAfter)
			}
			if q.Chat == room.ID && q.Method == "editMessageText" {
				edits++
			}
		}
		if edits < 20 {
			t.Errorf("the private answer was edited %d times in 40 s; want at least 20", edits)
		}
	}, telegramfake.WithReadAllGroupMessages())
}

func plainOf(markdown string) string { return strings.TrimSpace(rendered(markdown)[0].Plain) }

// answers are the bot's messages.
func (r *botHarness) answers(c telegramfake.Chat) (texts []string) {
	for _, m := range r.Messages(c) {
		if m.From.ID == r.Bot().ID && m.Service == "" {
			texts = append(texts, m.Text)
		}
	}
	return texts
}
