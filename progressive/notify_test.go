package progressive_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"parley/core"
	"parley/core/answer"
	"parley/core/chat"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

var done = answer.Outcome{Status: answer.Completed, Ping: true}

// DR-12: edits notify no one. The first text of an answer notifies its reader, unless it is late, and so does the end of a long answer;
// nothing else does.
func TestOnePingWhenItIsDone(t *testing.T) {
	const first, rest = "The first sentence of it. ", "And the second one, which is the last."
	for name, c := range map[string]struct {
		kind     chat.RunKind
		max      int
		before   time.Duration // the first text
		pause    time.Duration // between the texts
		end      answer.Outcome
		notified []string
		shown    []string
		deleted  int
	}{
		"a short answer": {pause: 5 * time.Second, end: completed, notified: []string{first}, shown: []string{first + rest}},
		"a long one is posted again below": {pause: 40 * time.Second, end: done,
			notified: []string{first, first + rest}, shown: []string{first + rest}, deleted: 1},
		"a long one that is being read": {pause: 40 * time.Second, end: completed, notified: []string{first}, shown: []string{first + rest}},
		"a late first text": {before: 31 * time.Second, pause: 10 * time.Second, end: done,
			notified: []string{first + rest}, shown: []string{first + rest}, deleted: 1},
		"nothing before the end": {before: 40 * time.Second, end: done, notified: []string{first + rest}, shown: []string{first + rest}},
		"a long one in several messages": {max: 40, pause: 40 * time.Second, end: done,
			notified: []string{first, "The first sentence of it. ⬆️"}, shown: append(progressivetest.Split(first+rest, 40), "The first sentence of it. ⬆️")},
		"several messages after a long time": {max: 30, before: 40 * time.Second, end: done,
			notified: progressivetest.Split(first+rest, 30)[:1], shown: progressivetest.Split(first+rest, 30)},
		"a reply to a command": {kind: chat.RunCommand, before: 40 * time.Second, end: completed, notified: []string{first + rest}, shown: []string{first + rest}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, sink := range []func(*progressivetest.Chat) progressive.Sink{nonced, full, resending} {
				withDelivery(t, sink, func(s *delivery) {
					s.chat.Notify, s.run.Kind, s.chat.Max = true, c.kind, c.max
					s.show()
					time.Sleep(c.before)
					s.say(first)
					time.Sleep(c.pause)
					s.say(rest)
					if err := s.end(c.end); err != nil {
						t.Error(err)
					}
					s.wantShown(c.shown...)
					if got := s.chat.Notified(); !slices.Equal(got, c.notified) {
						t.Errorf("notified of %q, want %q", got, c.notified)
					}
					if n := s.count(progressive.Delete); n != c.deleted {
						t.Errorf("%d messages were deleted, want %d", n, c.deleted)
					}
				})
			}
		})
	}
}

// The pointer has the first words of an answer, with whole pairs of marks.
func TestPointerHasTheFirstWords(t *testing.T) {
	for text, want := range map[string]string{
		"# Tea: a *short* guide\n\nBoil it.":     "Tea: a *short* guide",
		"**Tea.** It is hot.":                    "**Tea.** It is hot.",
		"_Tea_ is hot. So is coffee.":            "_Tea_ is hot.",
		"`go run` starts it. Then wait.":         "`go run` starts it.",
		"```go\nrun()\n```":                      "run()",
		"> - **Tea** is hot.":                    "**Tea** is hot.",
		"| **Tea** | hot |\n|---|---|\n":         "**Tea** | hot |",
		"---\n\n* Tea is hot.":                   "Tea is hot.",
		"||Tea|| is a spoiler, and *hot* today.": "||Tea|| is a spoiler, and *hot* today.",
	} {
		withDelivery(t, full, func(s *delivery) {
			s.chat.Notify, s.chat.Max = true, 200
			s.show()
			s.say(text)
			time.Sleep(40 * time.Second)
			s.say(strings.Repeat(" More of it.", 30))
			if err := s.end(done); err != nil {
				t.Error(err)
			}
			all := s.chat.Notified()
			if got := all[len(all)-1]; got != want+" ⬆️" {
				t.Errorf("%q has the pointer %q, want %q", text, got, want)
			}
		})
	}
}

// An answer whose new message is refused, or may exist where that can't be found out, ends in its first message.
func TestMoveThatFailsKeepsTheFirstMessage(t *testing.T) {
	for name, c := range map[string]struct {
		fault progressivetest.Fault
		nth   int // of the posts; -1 is all from the second on
		shown []string
	}{
		"refused in every form": {fault: progressivetest.Fault{Err: errors.New("no")}, nth: -1, shown: []string{prose}},
		"unknown, and lost":     {fault: progressivetest.Fault{Err: progressive.ErrAmbiguous}, nth: 1, shown: []string{again(prose)}},
		"unknown, and done":     {fault: progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true}, nth: 1, shown: []string{again(prose), prose}},
		"rate-limited":          {fault: progressivetest.Fault{Err: progressive.RetryAfter{Scope: "chat/room", After: 5 * time.Second, Err: errors.New("slow")}}, nth: 1, shown: []string{prose}},
	} {
		t.Run(name, func(t *testing.T) {
			withDelivery(t, resending, func(s *delivery) {
				s.chat.Notify = true
				s.show()
				s.say(prose[:40])
				time.Sleep(40 * time.Second)
				s.fail(progressive.Post, max(c.nth-1, -1), c.fault)
				s.say(prose[40:])
				if err := s.end(done); err != nil {
					t.Error(err)
				}
				s.wantShown(c.shown...)
				if n := len(s.chat.Notified()); n > 2 {
					t.Errorf("%d notifications", n)
				}
			})
		})
	}
}

// A pointer that can't be posted changes nothing of the answer.
func TestPointerIsNoPartOfTheAnswer(t *testing.T) {
	for _, err := range []error{errors.New("no"), progressive.ErrAmbiguous, progressive.ErrUnparsable, progressive.ErrGone} {
		withDelivery(t, full, func(s *delivery) {
			s.chat.Notify, s.chat.Max = true, 50
			s.show()
			s.say(prose)
			time.Sleep(40 * time.Second)
			s.fail(progressive.Post, -1, progressivetest.Fault{Err: err})
			if err := s.end(done); err != nil {
				t.Error(err)
			}
			s.wantShown(progressivetest.Split(prose, 50)...)
		})
	}
}

// pinging plays an answer of random length whose process dies at random moments, and whose requests fail, and counts the messages that
// notified its reader.
func pinging(t *testing.T, s script, unread bool) (problems []string) {
	synctest.Test(t, func(t *testing.T) {
		room := progressivetest.NewChat()
		st := &delivery{T: t, chat: room, sink: sinks[s.Sink](room), gate: progressive.NewGate(room.Budget), run: chat.Run{ID: "run", Opened: time.Now()}}
		room.Max, room.Notify = s.Max, true
		n := 0
		room.Fate = func(r progressivetest.Request) progressivetest.Fault {
			if r.Op == progressive.Typing {
				return progressivetest.Fault{}
			}
			n++
			return faults[s.Faults[n-1]]
		}
		st.show()
		for i, a := range s.Acts {
			st.say(fmt.Sprint(i, a.Text))
			time.Sleep(a.Pause)
		}
		final, slow := st.a.View().Text(), time.Since(st.run.Opened) > chat.SlowAfter
		end := answer.Outcome{Status: answer.Completed, Ping: slow && unread}
		st.run.Verdict = &chat.Verdict{Outcome: end}
		for _, a := range s.Acts { // the holder dies while it shows the end, and another continues
			if a.Dies {
				st.a.End(end)
				time.Sleep(a.Pause % time.Second)
				st.crash()
				st.say(final)
			}
		}
		if err := st.end(end); err != nil && !errors.Is(err, core.ErrUnconfirmed) {
			problems = append(problems, "Show: "+err.Error())
		}
		problems = append(problems, room.Problems()...)
		most := 1
		if end.Ping {
			most = 2
		}
		notified := room.Notified()
		if s.Sink != "nonced" && (s.has("ambiguous") || s.dies()) {
			most += 2 // a first text of unknown fate, and a last word that is repeated, marked
		}
		if len(notified) > most {
			problems = append(problems, fmt.Sprintf("%d notifications: %q", len(notified), notified))
		}
		if s.Sink == "nonced" {
			if len(notified) == 0 || end.Ping && !s.has("other", "unparsable") && !ping(st.run.Shown) {
				problems = append(problems, fmt.Sprintf("the end notified no one; notifications: %q", notified))
			}
			got := room.Shown()
			if pointer(st.run.Shown) != "" { // it is the last message
				got = got[:len(got)-1]
			}
			if want := progressivetest.Split(final, s.Max); !slices.Equal(got, want) {
				problems = append(problems, fmt.Sprintf("shown %q, want %q", got, want))
			}
		}
		if len(problems) > 0 {
			for _, r := range room.Log() {
				problems = append(problems, fmt.Sprintf("%v %s %s %s %q silent %v -> %v (applied %v)", r.At.Sub(st.run.Opened), r.Op, r.Nonce, r.ID, r.Part.Plain, r.Part.Silent, r.Err, r.Applied))
			}
		}
	})
	return problems
}

// pointer returns the id of the message that refers to the answer, or "".
func pointer(all []chat.Shown) string {
	for _, h := range all {
		if h.Part == chat.FirstPointer {
			return h.ID
		}
	}
	return ""
}

// ping reports whether one of the messages notified the asker of the end.
func ping(all []chat.Shown) bool {
	return slices.ContainsFunc(all, func(h chat.Shown) bool { return h.Ping })
}

// The random walk: with nonces an answer notifies its reader exactly once of its end, if that is due, whatever happens; without, at most
// once, except for a last word after a request of unknown fate. No more than its first text notifies before.
func TestPingsOfAnyStory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		acts := rapid.Custom(func(rt *rapid.T) act {
			return act{Text: rapid.SampledFrom([]string{" a", " some words of an answer.", "\n\nA paragraph, and more of it, in a line. "}).Draw(rt, "text"),
				Pause: rapid.SampledFrom([]time.Duration{40 * time.Millisecond, 130 * time.Millisecond, 700 * time.Millisecond, 9250 * time.Millisecond}).Draw(rt, "pause"),
				Dies:  rapid.IntRange(0, 5).Draw(rt, "dies") == 5}
		})
		s := script{
			Sink:   rapid.SampledFrom([]string{"full", "nonced", "resending", "drafting"}).Draw(rt, "sink"),
			Max:    rapid.SampledFrom([]int{90, 1000, 1000}).Draw(rt, "max"),
			Acts:   rapid.SliceOfN(acts, 1, 8).Draw(rt, "acts"),
			Faults: rapid.MapOfN(rapid.IntRange(0, 12), rapid.SampledFrom([]string{"wait 1s", "wait 33s", "ambiguous, undone", "ambiguous, done", "unsent", "other"}), 0, 3).Draw(rt, "faults"),
		}
		if p := pinging(t, s, rapid.Bool().Draw(rt, "unread")); len(p) > 0 {
			rt.Fatalf("%s", strings.Join(p, "\n"))
		}
	})
}
