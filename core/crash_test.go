package core_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/gatewaytest"
	"parley/internal/require"
)

// crashStory is played once in whole, and then once for each effect at which its process dies.
type crashStory struct {
	messages []string                 // three seconds apart
	model    func(last string) []step // what it says to a question, or to the result of an action
	watched  bool
}

func writes(last string) []step {
	if last == "A" {
		return []step{write(fox), pause(time.Second), call(0, "a", "WRITE", "{}")}
	}
	return []step{write("Done: " + last)}
}

func answersSlowly(shown string) func(string) []step {
	return func(last string) []step {
		if last == "A" {
			return []step{write(shown), pause(20 * time.Second), write(" That is all.")}
		}
		return []step{write("B's answer.")}
	}
}

var crashStories = map[string]crashStory{
	"an action that writes":                   {[]string{"A"}, writes, false},
	"an answer that is watched":               {[]string{"A", "B"}, writes, true},
	"a later turn takes the room":             {[]string{"A", "B"}, answersSlowly(fox), false},
	"a later turn comes before much is shown": {[]string{"A", "B"}, answersSlowly("Well"), false},
}

// I14 (IN-01, IN-10, DI-05): dying before or after any effect keeps I1 to I8.
func TestCrashAtEveryEffect(t *testing.T) {
	for name, s := range crashStories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			effects := s.play(t, 0, false)
			if len(effects) < 8 {
				t.Fatalf("the story has only the effects %q", effects)
			}
			for k := range effects { // behind one is before the next
				s.play(t, k+1, false)
			}
			s.play(t, len(effects), true)
		})
	}
}

// I14, ST-26: the same with two deaths, the second in the life that took over from the first, before every effect of it.
// PARLEY_SWEEP=all plays every pair; otherwise every fifth first death meets every second death.
func TestTwoCrashesAtEveryPair(t *testing.T) {
	step := 5
	if os.Getenv("PARLEY_SWEEP") == "all" {
		step = 1
	}
	for name, s := range crashStories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			effects := s.play(t, 0, false)
			for k := 0; k < len(effects); k += step {
				for j := 1; ; j++ {
					if s.playTwice(t, k+1, false, j) < j || t.Failed() {
						break
					}
				}
			}
		})
	}
}

// play dies at the kth effect, if k is not 0, and returns the effects.
func (s crashStory) play(t *testing.T, k int, behind bool) (effects []string) {
	effects, _ = s.playLives(t, k, behind, 0)
	return effects
}

// playTwice dies at the kth effect of the first life and at the jth of the second, and returns how many that had.
func (s crashStory) playTwice(t *testing.T, k int, behind bool, j int) (second int) {
	_, second = s.playLives(t, k, behind, j)
	return second
}

func (s crashStory) playLives(t *testing.T, k int, behind bool, j int) (effects []string, between int) {
	withHarness(t, func(w *harness) {
		if s.watched {
			w.watchOnly()
		}
		a := &fakeAction{name: "WRITE", effect: action.Writes, do: takes(time.Second)}
		w.addActions(a)
		w.model.respond = func(r llm.Request) []step { return s.model(r.Messages[len(r.Messages)-1].Text) }
		p := &gatewaytest.Faults{}
		first := w.startFaulty(p)
		killAt(p, k, behind, first)
		var in []chat.Message
		for _, text := range s.messages {
			m := w.message(room, "ada", text)
			in = append(in, m)
			_, _ = first.ProcessMessage(w.Context(), m) // an error makes the platform deliver it again
			time.Sleep(3 * time.Second)
		}
		time.Sleep(time.Minute)
		effects = p.Effects()
		if j > 0 {
			between = w.crashAgain(j, in)
		}
		second := w.start()
		for _, m := range in {
			w.waitAnswer(second.send(m))
		}
		if a.times() > 1 {
			w.Errorf("the action wrote %d times; want at most 1", a.times())
		}
		if !s.watched {
			w.wantShown(in)
		}
		if w.Failed() {
			w.Logf("died at effect %d of %q, behind it: %v, and then at effect %d", k, effects, behind, j)
		}
	})
	return effects, between
}

// crashAgain lives a life that is given in again and dies at its jth effect. It returns how many effects it came to.
func (w *harness) crashAgain(j int, in []chat.Message) int {
	p := &gatewaytest.Faults{}
	n := w.startFaulty(p)
	killAt(p, j, false, n)
	for _, m := range in {
		_, _ = n.ProcessMessage(w.Context(), m)
		time.Sleep(3 * time.Second)
	}
	time.Sleep(time.Minute)
	p.Kill()
	n.Interrupt()
	return len(p.Effects())
}

// killAt kills a process before or behind its kth effect.
func killAt(f *gatewaytest.Faults, k int, behind bool, n *process) {
	kill := func() { f.Kill(); n.Interrupt() }
	if behind {
		f.After(k, kill)
	} else {
		f.Before(k, kill)
	}
}

// wantShown wants what is stored of the runs of in to be what the chat shows, in their order and nothing else (I2, I3, I8).
func (w *harness) wantShown(in []chat.Message) {
	w.Helper()
	var want []string
	for _, m := range in {
		acc := require.Value(w.Store.Accept(w.Context(), m, chat.JoinRule{}))(w)
		if said := w.storedText(w.run(acc).Said()); said != "" {
			want = append(want, said)
		}
	}
	if got := w.chat.visible(); !slices.Equal(got, want) {
		w.Errorf("the chat shows %q, stored is %q", got, want)
	}
	if len(want) == 0 {
		w.Error("no answer is stored; want at least one")
	}
}

// I14: what an action says elsewhere is said there once, or not at all where the process died first, and the action is not
// done again. The process dies before and behind each effect.
func TestCrashWhileSomethingIsSaidElsewhere(t *testing.T) {
	var effects []string
	from := 0 // the effects before the question
	play := func(k int, behind bool) {
		withHarness(t, func(w *harness) {
			a := &fakeAction{name: "SEND", effect: action.Writes, do: func(ctx context.Context, c *action.Call) (action.Result, error) {
				return action.Result{Text: "sent"}, c.Say(ctx, group, "Tea is ready.")
			}}
			w.addActions(a)
			w.model.respond = func(r llm.Request) []step {
				switch r.Messages[len(r.Messages)-1].Text {
				case "tell them":
					return []step{write(fox), pause(time.Second), call(0, "a", "SEND", "{}")}
				}
				return []step{write("Well.")}
			}
			p := &gatewaytest.Faults{}
			first := w.startFaulty(p)
			hello := w.message(group, "ada", "hello")
			hello.Addressed = true
			w.waitAnswer(first.send(hello))
			from = len(p.Effects())
			killAt(p, k, behind, first)
			m := w.message(room, "ada", "tell them")
			_, _ = first.ProcessMessage(w.Context(), m)
			time.Sleep(time.Minute)
			effects = p.Effects()
			w.waitAnswer(w.start().send(m))
			time.Sleep(time.Minute)
			said := 0
			for _, text := range w.chat.visible() {
				if text == "Tea is ready." {
					said++
				}
			}
			if a.times() > 1 || said > a.times() || k == 0 && said != 1 {
				w.Errorf("dying at effect %d of %q, behind it: %v: done %d times, said %d times", k, effects, behind, a.times(), said)
			}
		})
	}
	play(0, false)
	for k, last := from+1, len(effects); k <= last; k++ {
		play(k, false)
		play(k, true)
	}
}
