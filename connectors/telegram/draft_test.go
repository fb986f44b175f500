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
	"parley/internal/subtest"
	"parley/progressive"
)

// gateOf is a gate with the budgets of the default configuration.
func gateOf() progressive.Gate {
	budgets := new(configtest.Defaults[Config](Section())).Budgets()
	return progressive.NewGate(func(s progressive.Scope) progressive.Budget { return budgets[s.Kind()] })
}

// grow shows an answer that grows by a word each 100 ms.
func (r *botHarness) grow(s *sink, gate progressive.Gate, id string, words int) (text string) {
	a, ended := &answer.Answer{}, make(chan error, 1)
	m := progressive.New(s, gate, chat.Run{ID: chat.RunID(id)}, slog.New(slog.NewTextHandler(r.log, nil)))
	go func() { ended <- m.Show(r.t.Context(), a, func(chat.Shown) error { return nil }) }()
	for n := range words {
		a.Apply(answer.Change{Kind: answer.Text, Text: fmt.Sprintf("word %d ", n)})
		time.Sleep(100 * time.Millisecond)
	}
	a.End(answer.Outcome{Status: answer.Completed})
	if err := <-ended; err != nil {
		r.t.Error(err)
	}
	return strings.TrimSpace(a.View().Text())
}

// streamings are the ways that an answer grows in a private chat.
var streamings = []struct {
	name   string
	mode   Streaming
	format Format
}{
	{"edits", StreamEdits, FormatHTML}, {"drafts", StreamDrafts, FormatHTML}, {"rich edits", StreamEdits, FormatRich}, {"rich drafts", StreamDrafts, FormatRich},
}

// TR-01, TR-02, TR-13: thirty private chats and ten groups stream at once, within every budget, and all are complete. The numbers of
// requests are those of docs/telegram.md.
func TestFortyChatsStreamAtOnce(t *testing.T) {
	for _, c := range streamings {
		t.Run(c.name, subtest.Plain(withBot, func(t *testing.T, r *botHarness) {
			r.bot.config.Streaming, r.bot.config.Format = c.mode, c.format
			gate := gateOf()
			var all sync.WaitGroup
			show := func(c telegramfake.Chat) {
				s := newSink(r.bot, address{Chat: c.ID, Message: 1, Kind: c.Type})
				all.Go(func() {
					if want, got := r.grow(s, gate, fmt.Sprint(c.ID), 100), r.answers(c); len(got) != 1 || got[0] != want {
						t.Errorf("%d shows %q", c.ID, got)
					}
				})
			}
			for i := range 30 {
				show(r.AddPrivate(r.AddUser(fmt.Sprint("User", i), fmt.Sprint("user", i))))
			}
			for i := range 10 {
				show(r.AddSupergroup(fmt.Sprint("Group", i), false))
			}
			all.Wait()
			r.wantNoHolds()
			calls := map[string]int{}
			for _, q := range r.Log() {
				if q.Chat > 0 {
					calls[q.Method]++
				}
			}
			t.Logf("30 private answers of 10 s: %v", calls)
			drafts := map[Format]string{FormatHTML: "sendMessageDraft", FormatRich: "sendRichMessageDraft"}[c.format]
			if (calls[drafts] > 0) != (c.mode == StreamDrafts) || (calls["editMessageText"] > 0) != (c.mode == StreamEdits) {
				t.Errorf("requests: %v", calls)
			}
		}))
	}
}

// TR-02: the twenty requests a minute of a group are shared by the questions that are answered there at once. Each answer begins soon, grows, and
// ends, and no one is refused.
func TestQuestionsShareAGroup(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		c, gate := r.AddSupergroup("Crew", false), gateOf()
		var all sync.WaitGroup
		for n := range 4 {
			s := newSink(r.bot, address{Chat: c.ID, Message: n + 1, Kind: c.Type})
			all.Go(func() { r.grow(s, gate, fmt.Sprint(n), 400) })
		}
		begun := time.Now()
		all.Wait()
		r.wantNoHolds()
		edits, late := map[string]int{}, time.Duration(0)
		for _, q := range r.Log() {
			switch q.Method {
			case "editMessageText":
				edits[q.Params["message_id"]]++
			case "sendMessage":
				late = max(late, q.At.Sub(begun))
			}
		}
		least, most := 1000, 0
		for _, n := range edits {
			least, most = min(least, n), max(most, n)
		}
		if len(edits) != 4 || most > least+2 || late > 15*time.Second {
			t.Errorf("edits by answer: %v; the last answer begins after %v", edits, late)
		}
		for _, m := range r.Messages(c) {
			if !strings.HasSuffix(m.Text, "word 399") {
				t.Errorf("an answer ends with %q", m.Text[len(m.Text)-20:])
			}
		}
		if took := time.Since(begun); took > 60*time.Second {
			t.Errorf("four answers of 40 s took %v", took)
		}
	})
}

// In slow mode, a new message waits for its turn, while another answer in the group continues to grow.
func TestSlowMode(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		c, gate := r.AddSupergroup("Crew", false), gateOf()
		r.SetSlowMode(c, 30*time.Second)
		begun := time.Now()
		var all sync.WaitGroup
		for n := range 2 {
			s := newSink(r.bot, address{Chat: c.ID, Message: n + 1, Kind: c.Type})
			all.Go(func() {
				time.Sleep(time.Duration(n) * time.Second)
				r.grow(s, gate, fmt.Sprint(n), 350)
			})
		}
		all.Wait()
		edits, refused := 0, 0
		for _, q := range r.Log() {
			switch at := q.At.Sub(begun); {
			case q.Method == "editMessageText" && at > 2*time.Second && at < 30*time.Second:
				edits++
			case q.RetryAfter > 0:
				refused++
			}
		}
		if got := r.answers(c); len(got) != 2 || got[0] != got[1] || edits < 3 || refused != 1 {
			t.Errorf("%d answers, %d edits during the wait, %d refusals", len(got), edits, refused)
		}
	})
}

func (r *botHarness) wantNoHolds() {
	r.t.Helper()
	for _, q := range r.Log() {
		if q.Early || q.RetryAfter > 0 {
			r.t.Errorf("%s to %d: early %t, told to wait %d", q.Method, q.Chat, q.Early, q.RetryAfter)
		}
	}
}

// One answer alone, for the advice in docs/telegram.md.
func TestRequestsPerAnswer(t *testing.T) {
	for _, seconds := range []int{2, 10, 30} {
		for _, way := range streamings {
			withBot(t, func(t *testing.T, r *botHarness) {
				r.bot.config.Streaming, r.bot.config.Format = way.mode, way.format
				c, s := r.private()
				r.grow(s, gateOf(), "run", 10*seconds)
				if n := len(r.Log()); n > seconds+3 {
					t.Errorf("%s: %d requests in %d s", way.name, n, seconds)
				}
				t.Logf("%s, %d s: %d requests", way.name, seconds, len(r.Log()))
				if got := r.answers(c); len(got) != 1 {
					t.Errorf("%d messages; want 1", len(got))
				}
			})
		}
	}
}

// TR-03: a hold on drafts holds everything in the chat, and the answer is complete after it. Drafts go on.
func TestDraftsAreHeld(t *testing.T) {
	for _, seconds := range []int{1, 33, 7200} {
		withBot(t, func(t *testing.T, r *botHarness) {
			r.bot.config.Streaming = StreamDrafts
			c, s := r.private()
			r.Fault(telegramfake.Fault{Method: "sendMessageDraft", Nth: 3, RetryAfter: seconds})
			begun := time.Now()
			want := r.grow(s, gateOf(), "run", 100)
			if got := r.answers(c); len(got) != 1 || got[0] != want || r.count("editMessageText") > 0 {
				t.Errorf("after %d s: %q", seconds, got)
			}
			if over := time.Since(begun) - max(10*time.Second, time.Duration(seconds)*time.Second); over < 0 || over > 5*time.Second {
				t.Errorf("with a hold of %d s it took %v", seconds, time.Since(begun))
			}
			for _, q := range r.Log() {
				if q.Early {
					t.Errorf("%s at %v is early", q.Method, q.At.Sub(begun))
				}
			}
		})
	}
}

// A draft in a topic of a private chat is only removed by messages there; the press of Stop names it.
func TestDraftInATopic(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.bot.config.Streaming = StreamDrafts
		r.run(r.bot)
		ada := r.AddUser("Ada", "ada")
		c := r.AddPrivate(ada)
		topic := r.AddTopic(c, "Tales")
		s := r.ask(c, ada, "tell me", telegramfake.InTopic(topic))
		stays, removed, err := s.Draft(t.Context(), part("once"))
		if err != nil || stays != draftTime || len(r.Drafts(c)) != 1 {
			t.Fatalf("%v, %v, %+v", stays, err, r.Drafts(c))
		}
		gone := func() bool {
			wait(time.Second)
			select {
			case <-removed:
				return true
			default:
				return false
			}
		}
		if r.Say(c, ada, "elsewhere"); gone() {
			t.Error("a message elsewhere removes the draft")
		}
		r.StopDraft(c, r.Drafts(c)[0])
		wait(time.Second)
		all := r.Events()
		stop, _ := all[len(all)-1].(chat.Command)
		if stop.Name != chat.Stop || stop.Room != s.telegram.account.room(c.ID, topic) || stop.Question != s.telegram.account.memory(c.ID, s.to.Message) || stop.Author != entity(ada.ID) {
			t.Errorf("the press is %+v", stop)
		}
		if r.Say(c, ada, "here", telegramfake.InTopic(topic)); !gone() || len(r.Drafts(c)) > 0 {
			t.Error("a message in the topic does not remove the draft")
		}
	})
}

// Where a draft can't be, there is none: groups, channels, and texts that answer no message.
func TestNoDrafts(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		private1 := address{Chat: 1, Message: 1, Kind: private}
		if newSink(r.bot, private1).Drafts() {
			t.Error("drafts by default")
		}
		r.bot.config.Streaming = StreamDrafts
		for to, want := range map[address]bool{
			private1: true, {Chat: 1, Kind: private}: false, {Chat: -1, Message: 1, Kind: group}: false, {Chat: -1, Message: 1, Kind: channel}: false,
		} {
			if got := newSink(r.bot, to).Drafts(); got != want {
				t.Errorf("%+v: %t", to, got)
			}
		}
	})
}
