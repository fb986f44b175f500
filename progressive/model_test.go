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
	"parley/core/chat"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// script is all that happens to an answer.
type script struct {
	Sink   string
	Max    int
	Acts   []act
	Faults map[int]string // by number of the request
}

// act is a delta followed by a pause, or the death of the holder, who is followed by another.
type act struct {
	Text  string
	Pause time.Duration
	Dies  bool
}

var sinks = map[string]func(*progressivetest.Chat) progressive.Sink{"full": full, "nonced": nonced, "editing": editing, "post only": postOnly, "resending": resending, "drafting": drafting}

// play lets s happen and says what is wrong with how it ends.
func play(t *testing.T, s script) (problems []string) {
	synctest.Test(t, func(t *testing.T) {
		room := progressivetest.NewChat()
		st := &delivery{T: t, chat: room, sink: sinks[s.Sink](room), gate: progressive.NewGate(room.Budget), run: chat.Run{ID: "run", Opened: time.Now()}}
		room.Max, room.Window = s.Max, 24*time.Hour
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
			if a.Dies {
				st.crash()
			}
			st.say(fmt.Sprint(i, a.Text))
			time.Sleep(a.Pause)
		}
		final := st.a.View().Text()
		if s.dies() { // once more, with the last word decided
			st.run.Verdict = &chat.Verdict{}
			st.a.End(completed)
			time.Sleep(70 * time.Millisecond)
			st.crash()
			st.say(final)
		}
		if err := st.end(completed); err != nil && !errors.Is(err, core.ErrRemoved) && !errors.Is(err, core.ErrUnconfirmed) {
			problems = append(problems, "Show: "+err.Error())
		}
		problems = append(problems, room.Problems()...)
		problems = append(problems, s.judge(final, room)...)
		if len(problems) > 0 {
			for _, r := range room.Log() {
				problems = append(problems, fmt.Sprintf("%v %s %s %s %q -> %v (applied %v)", r.At.Sub(st.run.Opened), r.Op, r.Nonce, r.ID, r.Part.Plain, r.Err, r.Applied))
			}
		}
	})
	return problems
}

// crash ends the holder, whose writes fail from now on, and lets another go on.
func (s *delivery) crash() {
	s.mu.Lock()
	s.refuse = chat.ErrCrashed
	s.mu.Unlock()
	s.cancel(chat.ErrCrashed)
	_ = s.wait()
	s.refuse = nil
	s.show()
}

func (s script) dies() bool { return slices.ContainsFunc(s.Acts, func(a act) bool { return a.Dies }) }

func (s script) has(faults ...string) bool {
	for _, f := range s.Faults {
		if slices.ContainsFunc(faults, func(prefix string) bool { return strings.HasPrefix(f, prefix) }) {
			return true
		}
	}
	return false
}

// refusals counts the definite ones.
func (s script) refusals() (n int) {
	for _, f := range s.Faults {
		if f == "other" || f == "unparsable" {
			n++
		}
	}
	return n
}

// judge returns what is wrong with the final view of the reader. Where the fate of a create is unknowable, or a user
// interferes, it is enough that no part is shown twice.
func (s script) judge(final string, chat *progressivetest.Chat) (problems []string) {
	want, got := progressivetest.Split(final, s.Max), chat.Shown()
	deaf := s.has("ambiguous", "silent") || s.dies()
	switch {
	case s.refusals() > 2, s.Sink == "editing" && s.refusals() > 1: // in every form: a line says that it is missing, or what can't be deleted stays
	case s.Sink == "nonced" && !s.has("forbidden", "gone", "stale"), !deaf && !s.has("forbidden", "gone", "stale"):
		if !slices.Equal(got, want) {
			problems = append(problems, fmt.Sprintf("shown %q, want %q", got, want))
		}
	case s.has("stale"), s.dies() && s.Sink != "nonced": // what can't be changed any more stays
	default:
		for _, p := range want {
			if n := copies(got, p); n > copies(want, p) {
				problems = append(problems, fmt.Sprintf("%q is shown %d times in %q", p, n, got))
			}
			if n := copies(got, again(p)); n > copies(want, p) {
				problems = append(problems, fmt.Sprintf("%q is shown %d times, marked, in %q", p, n, got))
			}
		}
	}
	for _, versions := range chat.Versions() {
		for i := 1; i < len(versions)-1 && !s.dies() && len(want) == 1; i++ {
			if len(versions[i]) < len(versions[i-1]) {
				problems = append(problems, fmt.Sprintf("ST-20: %q became %q", versions[i-1], versions[i]))
			}
		}
	}
	return problems
}

func copies(in []string, text string) (n int) {
	for _, s := range in {
		if s == text {
			n++
		}
	}
	return n
}

// The random walk: any script ends with exactly the last word.
func TestAnyStoryEndsWithTheLastWord(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := slices.Sorted(func(yield func(string) bool) {
			for name := range faults {
				if !yield(name) {
					return
				}
			}
		})
		acts := rapid.Custom(func(rt *rapid.T) act {
			return act{Text: rapid.SampledFrom([]string{" a", " some words of an answer.", "\n\nA paragraph, and more of it, in a line. ", " "}).Draw(rt, "text"),
				Pause: rapid.SampledFrom([]time.Duration{0, 40 * time.Millisecond, 130 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second}).Draw(rt, "pause"),
				Dies:  rapid.IntRange(0, 9).Draw(rt, "dies") == 9}
		})
		s := script{
			Sink:   rapid.SampledFrom([]string{"full", "nonced", "editing", "post only", "resending", "drafting"}).Draw(rt, "sink"),
			Max:    rapid.SampledFrom([]int{90, 100, 1000}).Draw(rt, "max"),
			Acts:   rapid.SliceOfN(acts, 1, 12).Draw(rt, "acts"),
			Faults: rapid.MapOfN(rapid.IntRange(0, 12), rapid.SampledFrom(names), 0, 5).Draw(rt, "faults"),
		}
		if p := play(t, s); len(p) > 0 {
			rt.Fatalf("%s", strings.Join(p, "\n"))
		}
	})
}

// The small model: every short story with every fault at every early request.
func TestEveryShortStory(t *testing.T) {
	alphabet := []act{
		{Text: " some words of an answer.", Pause: 3 * time.Second},
		{Text: " and", Pause: 130 * time.Millisecond},
		{Text: " words of another holder. ", Pause: 40 * time.Millisecond, Dies: true},
	}
	for _, acts := range words(alphabet, 3) {
		for sink := range sinks {
			for fault := range faults {
				for at := range 4 {
					s := script{Sink: sink, Max: 64, Acts: acts, Faults: map[int]string{at: fault, at + 1: fault}}
					if p := play(t, s); len(p) > 0 {
						t.Fatalf("%+v\n%s", s, strings.Join(p, "\n"))
					}
				}
			}
		}
	}
}

// A message that can't be edited is deleted. If it is unknown whether that worked, and the message is gone, it was not a user who
// removed it: the last word goes into a new one.
func TestOwnDeletionIsNotAUsers(t *testing.T) {
	for _, sink := range []string{"nonced", "full"} {
		s := script{Sink: sink, Max: 1000, Acts: []act{{Text: " some words of an answer.", Pause: 3 * time.Second}, {Text: " and"}},
			Faults: map[int]string{1: "unparsable", 2: "other", 3: "ambiguous, done"}}
		if p := play(t, s); len(p) > 0 {
			t.Errorf("%s: %s", sink, strings.Join(p, "\n"))
		}
	}
}

// words are all words of n letters.
func words(alphabet []act, n int) (out [][]act) {
	if n == 0 {
		return [][]act{nil}
	}
	for _, w := range words(alphabet, n-1) {
		for _, a := range alphabet {
			out = append(out, append(slices.Clone(w), a))
		}
	}
	return out
}
