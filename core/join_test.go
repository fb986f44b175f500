package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/internal/subtest"
)

// messagePart is what Ada sends as one of several messages.
func (w *harness) messagePart(in chat.RoomID, text string, files ...chat.Attachment) chat.Message {
	m := w.message(in, "ada", text)
	m.Files = files
	return m
}

func picture(n int) chat.Attachment {
	return chat.Attachment{Ref: fmt.Sprint("picture ", n), Name: fmt.Sprintf("%d.jpg", n), Type: "image/jpeg", Size: 1}
}

// IN-13: an album is one run with all its pictures in their order, however slowly they come; in a group too, where only
// the first says who is meant.
func TestAlbumIsOneRun(t *testing.T) {
	for in, gap := range map[chat.RoomID]time.Duration{room: time.Second, group: 900 * time.Millisecond} {
		t.Run(string(in), subtest.Of(withHarness, func(w *harness) {
			n := w.start()
			begun := time.Now()
			var run chat.RunID
			var want []chat.MemoryID
			for i := range 10 {
				m := w.messagePart(in, "", picture(i))
				if m.Group = "album"; i == 0 {
					m.Text, m.Addressed = "What are these?", true
				}
				acc := n.send(m)
				if i == 0 {
					run = acc.Run
				}
				if want = append(want, m.ID); acc.Run != run || run == "" {
					w.Errorf("picture %d has run %q, the first %q", i, acc.Run, run)
				}
				if in == group && i == 4 { // others are answered in their own turn
					other := w.message(group, "eve", "Nice!")
					if acc := n.send(other); acc.Run == run {
						w.Error("another's words are part of the album")
					}
				}
				time.Sleep(gap)
			}
			w.waitAnswer(chat.Accepted{Run: run})
			if got := w.run(chat.Accepted{Run: run}).Inputs; !slices.Equal(got, want) {
				w.Errorf("the run has %q; want %q", got, want)
			}
			calls := w.model.requests()
			if len(calls) != 1 {
				w.Fatalf("the model was asked %d times; want 1", len(calls))
			}
			if d := calls[0].From.Sub(begun); d > 10*time.Second {
				w.Errorf("the model was asked after %v", d)
			}
			all := strings.Join(calls[0].texts(), "\n")
			last := -1
			for i := range 10 {
				at := strings.Index(all, fmt.Sprintf("%d.jpg", i))
				if at <= last {
					w.Errorf("picture %d is at %d, the one before at %d", i, at, last)
				}
				last = at
			}
		}))
	}
}

// IN-13: what is sent in two parts is one run without any setting; how long it waits depends on what it may be a part
// of, and what is whole waits for nothing.
func TestPartsAreOneRun(t *testing.T) {
	long := strings.Repeat("long ", 800)
	for name, c := range map[string]struct {
		first chat.Message
		after time.Duration // until the second comes
		joins bool
		asked time.Duration // after which the model is asked first
	}{
		"a split text":       {chat.Message{Memory: chat.Memory{Text: long}, MayContinue: true}, 700 * time.Millisecond, true, 700 * time.Millisecond},
		"a long text alone":  {chat.Message{Memory: chat.Memory{Text: long}, MayContinue: true}, 2 * time.Second, false, 1200 * time.Millisecond},
		"a picture, words":   {chat.Message{Memory: chat.Memory{Files: []chat.Attachment{photo}}}, 1400 * time.Millisecond, true, 1400 * time.Millisecond},
		"a picture alone":    {chat.Message{Memory: chat.Memory{Files: []chat.Attachment{photo}}}, time.Minute, false, 1500 * time.Millisecond},
		"a picture with one": {chat.Message{Memory: chat.Memory{Text: "Look", Files: []chat.Attachment{photo}}}, time.Second, false, 0},
		"a text":             {chat.Message{Memory: chat.Memory{Text: "Hello"}}, time.Second, false, 0},
		"a voice":            {chat.Message{Memory: chat.Memory{Files: []chat.Attachment{voice}}}, time.Second, false, -1},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Turns.Direct = schedule.Queue
			n := w.start()
			begun := time.Now()
			first := w.message(room, "ada", c.first.Text)
			first.Files, first.MayContinue = c.first.Files, c.first.MayContinue
			one := n.send(first)
			time.Sleep(c.after)
			two := n.sendText("And now?")
			if joined := one.Run == two.Run; joined != c.joins {
				w.Errorf("it joined: %v; want %v", joined, c.joins)
			}
			w.waitAnswer(one)
			w.wantAnswer(two, answer.Completed, "You said: And now?")
			if got := w.model.requests()[0].From.Sub(begun); got != c.asked && c.asked >= 0 {
				w.Errorf("the model was asked after %v", got)
			}
		}))
	}
}

// IN-13: parts may come in through several replicas, and a process may die between them.
func TestPartsOnReplicas(t *testing.T) {
	withHarness(t, func(w *harness) {
		a, b := w.start(), w.start()
		m := w.messagePart(room, "", picture(1))
		m.Group = "album"
		one := a.send(m)
		time.Sleep(time.Second)
		a.shutdown()
		m = w.messagePart(room, "", picture(2))
		m.Group = "album"
		if two := b.send(m); two.Run != one.Run {
			w.Errorf("runs %s and %s", one.Run, two.Run)
		}
		w.wantAnswer(one, answer.Completed, "You said: [File: 2.jpg, image/jpeg]")
		if calls := w.model.requests(); len(calls) != 1 || len(calls[0].texts()) != 2 {
			w.Errorf("the model was asked %+v", calls)
		}
	})
}

// Who may not have an answer has none by joining one.
func TestStrangersJoinNothing(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		m := w.messagePart(group, "Look", picture(1))
		m.Group, m.Addressed = "album", true
		one := n.send(m)
		bot := w.messagePart(group, "", picture(2))
		bot.Bot = true
		if acc := n.send(bot); acc.Run != "" {
			w.Error("a bot joins (I13)")
		}
		w.Must(w.Store.SetAttention(w.Context(), group, chat.Muted))
		if acc := n.send(w.messagePart(group, "and more")); acc.Run != "" {
			w.Error("a part joined in a muted room; want no run")
		}
		w.waitAnswer(one)
	})
}
