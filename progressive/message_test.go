package progressive_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

var completed = answer.Outcome{Status: answer.Completed}

func TestFirstTextAtTwentyFourCharacters(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.show()
		s.say("ééééé ééééé ééééé ééééé") // 23, of 43 bytes
		time.Sleep(time.Second)
		if n := s.count(progressive.Post); n != 0 {
			t.Errorf("%d posts below 24 characters; want none", n)
		}
		s.say("e\u0301")
		time.Sleep(100 * time.Millisecond)
		if n := s.count(progressive.Post); n != 1 {
			t.Errorf("%d posts at 24 characters; want 1", n)
		}
		s.finish()
	})
}

func TestFirstTextAfterAWhile(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.show()
		time.Sleep(5 * time.Second)
		s.say("r")
		time.Sleep(1400 * time.Millisecond)
		if n := s.count(progressive.Post); n != 0 {
			t.Errorf("%d posts too soon; want none", n)
		}
		time.Sleep(200 * time.Millisecond)
		s.wantShown("r")
		s.finish()
	})
}

// Quick answers are posted once, never edited.
func TestQuickAnswer(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.show()
		s.say("Yes.")
		s.finish()
		s.wantShown("Yes.")
		if n := len(s.chat.Log(progressive.Post, progressive.Edit)); n != 1 {
			t.Errorf("%d requests; want 1", n)
		}
	})
}

// What an action says replaces what it said, live, also by less.
func TestCallbackReplacesLive(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.show()
		for _, text := range []string{"Looking it up in the great catalogue…", "Found it", "Now playing: Clair de Lune"} {
			s.a.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: text})
			time.Sleep(10 * time.Second)
			s.wantShown(text)
		}
		s.finish()
	})
}

// ST-01
func TestNoEditStorm(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.chat.Max = 0
		s.show()
		for i := range 2000 {
			s.say(fmt.Sprint(i, " "))
			time.Sleep(10 * time.Millisecond)
		}
		s.finish()
		if n := s.count(progressive.Edit); n < 10 || n > 20 {
			t.Errorf("%d edits in 20 s at a permit a second; want at least 10 and at most 20", n)
		}
		s.wantShown(s.a.View().Text())
	})
}

// ST-02, TR-03
func TestHoldInMidStream(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.fail(progressive.Edit, 2, progressivetest.Fault{Err: progressive.RetryAfter{Scope: "chat/room", After: 33 * time.Second}})
		s.show()
		s.stream(strings.Repeat("word ", 30), time.Second)
		edits := s.count(progressive.Edit)
		time.Sleep(20 * time.Second)
		if n := s.count(progressive.Edit); n != edits+1 {
			t.Errorf("%d edits after the hold, want one", n-edits)
		}
		s.wantShown(s.a.View().Text())
		s.finish()
	})
}

// ST-03
func TestHoldOfOneChatLeavesOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := progressivetest.NewChat(), progressivetest.NewChat()
		a.Name = "a"
		gate := progressive.NewGate(a.Budget)
		begun := time.Now()
		one := &delivery{T: t, chat: a, sink: full(a), gate: gate, run: chat.Run{ID: "one"}}
		two := &delivery{T: t, chat: b, sink: full(b), gate: gate, run: chat.Run{ID: "two"}}
		one.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.RetryAfter{Scope: "chat/a", After: 300 * time.Second}})
		one.show()
		two.show()
		one.say(prose)
		two.stream(prose, 100*time.Millisecond)
		two.finish()
		if d := time.Since(begun); d > 5*time.Second {
			t.Errorf("the other chat took %v", d)
		}
		one.finish()
		if d := time.Since(begun); d < 300*time.Second || d > 301*time.Second {
			t.Errorf("the held chat took %v", d)
		}
		one.wantShown(prose)
		two.wantShown(prose)
	})
}

// ST-04: the text stops at every possible moment.
func TestLastWord(t *testing.T) {
	for ms := range 40 {
		withDelivery(t, full, func(s *delivery) {
			s.show()
			s.stream(prose, 170*time.Millisecond)
			time.Sleep(time.Duration(ms) * 50 * time.Millisecond)
			s.say(" Done.")
			s.finish()
			s.wantShown(prose + " Done.")
		})
	}
}

// ST-05: the final waits for an edit under way, and not a moment longer.
func TestLateEditDoesNotOverwriteTheFinal(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.fail(progressive.Edit, 0, progressivetest.Fault{Delay: 5 * time.Second})
		s.show()
		s.say(prose)
		time.Sleep(time.Second)
		s.say(" More.")
		time.Sleep(time.Second)
		begun := time.Now()
		s.say(" End.")
		s.finish()
		if d := time.Since(begun); d != 4200*time.Millisecond {
			t.Errorf("the final took %v", d)
		}
		s.wantShown(prose + " More. End.")
	})
}

// The wait for an interim permit is given up when the answer ends.
func TestFinalDoesNotWaitForAnInterimPermit(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.chat.Limits["chat"] = progressive.Budget{N: 2, Per: time.Minute}
		s.show()
		s.say(prose)
		time.Sleep(time.Second)
		s.say(" More.")
		time.Sleep(time.Second)
		begun := time.Now()
		s.finish()
		if d := time.Since(begun); d != 100*time.Millisecond {
			t.Errorf("the final took %v", d)
		}
		s.wantShown(prose + " More.")
	})
}

// ST-07: a sink that can't edit is shown the last word only, and all of it.
func TestWithoutEditor(t *testing.T) {
	withDelivery(t, postOnly, func(s *delivery) {
		s.show()
		s.stream(prose, time.Second)
		if n := s.count(progressive.Post); n != 0 {
			t.Errorf("%d posts before the end; want none", n)
		}
		s.finish()
		s.wantShown(prose)
	})
}

// ST-08
func TestInterruptedAnswerIsMarked(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.show()
		s.stream(prose, 100*time.Millisecond)
		if err := s.end(answer.Outcome{Status: answer.Stopped}); err != nil {
			t.Error(err)
		}
		s.wantShown(prose + " [stopped]")
	})
}

func TestWithdrawn(t *testing.T) {
	for name, c := range map[string]struct {
		sink func(*progressivetest.Chat) progressive.Sink
		left int
	}{"deleted": {full, 0}, "left": {editing, 3}} {
		t.Run(name, subtest.With(withDelivery, c.sink, func(s *delivery) {
			s.chat.Max = 64
			s.show()
			s.say(prose + prose)
			time.Sleep(10 * time.Second)
			before := s.chat.Shown()
			require.NoError(s, s.end(answer.Outcome{Status: answer.Superseded, Withdrawn: true}))
			s.wantShown(before[:c.left]...)
			if len(before) != 3 || len(s.run.Shown) != c.left {
				s.Errorf("shown %q, noted %v; want 3 and %v", before, s.run.Shown, c.left)
			}
		}))
	}
}

// ST-10, ST-18, ST-19: parts are created once, in order, and each is edited in place.
func TestLongAnswer(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.chat.Max = 100
		s.fail(progressive.Post, 1, progressivetest.Fault{Delay: 3 * time.Second})
		s.show()
		s.stream(strings.Repeat(prose+" ", 5), 100*time.Millisecond)
		s.finish()
		want := progressivetest.Split(s.a.View().Text(), 100)
		s.wantShown(want...)
		if n := s.count(progressive.Post); n != len(want) {
			t.Errorf("%d posts for %d parts", n, len(want))
		}
		if n := s.count(progressive.Delete); n != 0 {
			t.Errorf("%d deletes; want none", n)
		}
		var notes []chat.Shown
		for i := range want {
			notes = append(notes, chat.Shown{Part: i}, chat.Shown{Part: i, ID: fmt.Sprintf("m%d", i+1)})
		}
		if got := bare(s.notes); !slices.Equal(got, notes) {
			t.Errorf("noted %v; want %v", got, notes)
		}
	})
}

// bare returns notes without what intents say of their requests.
func bare(notes []chat.Shown) (out []chat.Shown) {
	for _, h := range notes {
		out = append(out, chat.Shown{Part: h.Part, ID: h.ID, Gone: h.Gone})
	}
	return out
}

// ST-14: nothing to see, nothing is sent.
func TestInvisibleText(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.show()
		for _, text := range []string{" ", "\u200b", "\ufeff", "\n\n", "\u3164", "\u2800", "\u00ad"} {
			s.say(text)
			time.Sleep(2 * time.Second)
		}
		s.finish()
		if n := len(s.chat.Log(progressive.Post, progressive.Edit)); n != 0 {
			t.Errorf("%d requests; want none", n)
		}
	})
}

// holdsBack is a sink whose interim views leave out a last line that has not ended.
type holdsBack struct{ progressivetest.Full }

func (h holdsBack) Render(v answer.View, _ ...string) []progressive.Part {
	parts := h.Full.Render(v)
	if n := len(parts) - 1; n >= 0 && !v.Outcome.Done() && strings.HasSuffix(parts[n].Text, "|") {
		parts[n].Text = parts[n].Text[:strings.LastIndex(parts[n].Text, "\n")]
		parts[n].Plain = parts[n].Text
	}
	return parts
}

// ST-20: what the model wrote does not become shorter because it is drawn otherwise for a moment.
func TestTextNeverShrinks(t *testing.T) {
	sink := func(c *progressivetest.Chat) progressive.Sink { return holdsBack{full(c).(progressivetest.Full)} }
	withDelivery(t, sink, func(s *delivery) {
		s.show()
		s.say("Here is the table you asked for:\n")
		s.say("a line that becomes one of a table")
		time.Sleep(3 * time.Second)
		s.say(" |")
		time.Sleep(3 * time.Second)
		s.finish()
		before := 0
		for _, text := range s.chat.Versions()[0] {
			if len(text) < before {
				t.Errorf("shrank to %q", text)
			}
			before = len(text)
		}
	})
}

func TestAbandonedAnswer(t *testing.T) {
	withDelivery(t, editing, func(s *delivery) {
		s.chat.Limits["chat"] = progressive.Budget{N: 2, Per: time.Hour}
		s.show()
		s.say(prose)
		time.Sleep(time.Second)
		s.say(" More.") // waits for a permit
		time.Sleep(time.Second)
		s.a.Abandon()
		if err := s.wait(); !errors.Is(err, answer.ErrLost) {
			t.Errorf("got %v", err)
		}
		s.wantShown(prose)
	})
}

func TestFailingNoteEndsTheMessage(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.refuse = answer.ErrLost
		s.show()
		s.say(prose)
		if err := s.wait(); !errors.Is(err, answer.ErrLost) {
			t.Errorf("got %v", err)
		}
		s.wantShown()
	})
}

// A request under way is not cut off by the end of the context, and its result is noted.
func TestContextEndsWhileARequestIsUnderWay(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.fail(progressive.Post, 0, progressivetest.Fault{Delay: 5 * time.Second})
		s.show()
		s.say(prose)
		time.Sleep(time.Second)
		s.cancel(chat.ErrShutdown)
		if err := s.wait(); !errors.Is(err, chat.ErrShutdown) {
			t.Errorf("got %v", err)
		}
		s.wantShown(prose)
		if want := []chat.Shown{{ID: "m1"}}; !slices.Equal(s.run.Shown, want) {
			t.Errorf("noted %v; want %v", s.run.Shown, want)
		}
	})
}

// A resumed message changes nothing before the last word.
func TestResumedMessageWaitsForTheLastWord(t *testing.T) {
	withDelivery(t, nonced, func(s *delivery) {
		s.show()
		s.stream(prose, 100*time.Millisecond)
		s.cancel(chat.ErrShutdown)
		_ = s.wait()
		before, requests := s.chat.Shown(), len(s.chat.Log())
		s.show()
		s.stream("Another "+prose, time.Second)
		s.wantShown(before...)
		if n := len(s.chat.Log()) - requests; n != 0 {
			t.Errorf("%d requests before the last word; want none", n)
		}
		s.finish()
		s.wantShown("Another " + prose)
	})
}

// A part that was noted without an id and is no longer wanted is found by its nonce and deleted.
func TestUnwantedOrphanIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		sink    func(*progressivetest.Chat) progressive.Sink
		applied bool
		pause   time.Duration
		left    []string
	}{
		"created":         {nonced, true, time.Second, []string{"Short."}},
		"not created":     {nonced, false, time.Second, []string{"Short."}},
		"nonce too old":   {nonced, true, time.Hour, []string{"Short.", "of them."}},
		"without nonces":  {full, true, time.Second, []string{"Short.", "of them."}},
		"never there too": {full, false, time.Second, []string{"Short."}},
	} {
		t.Run(name, subtest.With(withDelivery, c.sink, func(s *delivery) {
			s.chat.Max = 82
			s.fail(progressive.Post, 1, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: c.applied})
			s.show()
			s.say(prose)
			time.Sleep(500 * time.Millisecond) // the second part's fate is unknown now
			s.cancel(chat.ErrShutdown)
			_ = s.wait()
			if want := []chat.Shown{{ID: "m1"}, {Part: 1}}; !slices.Equal(bare(s.run.Shown), want) {
				s.Fatalf("noted %v", s.run.Shown)
			}
			time.Sleep(c.pause)
			s.show()
			s.say("Short.")
			s.finish()
			s.wantShown(c.left...)
		}))
	}
}

// counting counts how often the whole text is rendered.
type counting struct {
	progressivetest.Full
	renders *int
}

func (c counting) Render(v answer.View, _ ...string) []progressive.Part {
	*c.renders++
	return c.Full.Render(v)
}

// ST-22: the text is rendered when there is a request to make, not for each delta.
func TestRenderingIsPerRequest(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.chat.Max = 0
		renders := 0
		s.sink = counting{s.sink.(progressivetest.Full), &renders}
		s.show()
		s.stream(strings.Repeat("word ", 10_000), time.Millisecond)
		s.finish()
		if n := s.count(progressive.Edit); renders > 3*n+10 {
			t.Errorf("%d renders for %d edits", renders, n)
		}
	})
}
