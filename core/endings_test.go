package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/gatewaytest"
	"parley/internal/lang"
	"parley/internal/subtest"
)

func TestStop(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Direct = schedule.Queue
		n := w.start()
		w.model.queue([]step{write("So"), pause(time.Hour)})
		running, waiting := n.sendText("A"), n.sendText("B")
		time.Sleep(time.Second)
		stopped := time.Now()
		n.stopAnswer(room)
		w.wantAnswer(running, answer.Stopped, "So\n\n_(Stopped.)_")
		w.wantAnswer(waiting, answer.Stopped, "")
		if calls := w.model.requests(); len(calls) != 1 || !calls[0].To.Equal(stopped) {
			w.Errorf("the model went on: %+v", calls)
		}
		w.wantAnswer(n.sendText("C"), answer.Completed, "You said: C")
		w.wantVisible("So\n\n_(Stopped.)_", "You said: C")
		n.stopAnswer(room) // of nothing
	})
}

func TestUnknownInbound(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		if _, err := n.ProcessMessage(w.Context(), chat.Command{Room: room, Name: "dance"}); err == nil {
			w.Error("an unknown command was taken")
		}
		m := w.message(room, "ada", "A")
		m.Address.ConnectorData = make([]byte, chat.MaxOwn+1)
		if _, err := n.ProcessMessage(w.Context(), m); !errors.Is(err, chat.ErrTooLarge) {
			w.Errorf("a huge address: %v", err)
		}
	})
}

// Time limits end the work itself, not only the wait for it (LM-03).
func TestTimeLimits(t *testing.T) {
	for name, c := range map[string]struct {
		script []step
		after  time.Duration
		status answer.Status
		text   string
	}{
		"no first word": {[]step{pause(time.Hour)}, 90 * time.Second, answer.Failed, llm.GenerationTimeout.Sentence(lang.Voice{})},
		"silence after a word": {[]step{write("So"), pause(time.Hour)}, 75 * time.Second, answer.Failed,
			"So\n\n_(" + llm.GenerationTimeout.Sentence(lang.Voice{}) + ")_"},
		"thoughts are life": {[]step{pause(80 * time.Second), alive(), pause(70 * time.Second), alive(), pause(70 * time.Second), write("Done.")},
			220 * time.Second, answer.Completed, "Done."},
		"forever": {slices.Repeat([]step{pause(time.Minute), alive()}, 30), 15 * time.Minute, answer.TimedOut, llm.GenerationTimeout.Sentence(lang.Voice{})},
		"a wait that would take too long": {[]step{fails(&llm.Failure{Kind: llm.RateLimited, Retry: true, After: time.Hour, Err: errDown})},
			0, answer.Failed, llm.RateLimited.Sentence(lang.Voice{})},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.watchOnly()
			n := w.start()
			w.model.queue(c.script)
			begun := time.Now()
			acc := n.sendText("A")
			_, v, err := n.readAnswer(acc.Run)
			w.Must(err)
			if took := time.Since(begun); took != c.after || v.Outcome.Status != c.status || v.Text() != c.text {
				w.Errorf("after %v it ended as %+v with %q", took, v.Outcome, v.Text())
			}
			if call := w.model.requests()[0]; call.To.Sub(call.From) > c.after {
				w.Errorf("the model worked for %v", call.To.Sub(call.From))
			}
		}))
	}
}

// LM-01, LM-02, LM-06: at most three calls of a round, and only while nothing can be seen.
func TestRetries(t *testing.T) {
	busy := fails(&llm.Failure{Kind: llm.RateLimited, Retry: true, Err: errDown})
	final := fails(&llm.Failure{Kind: llm.NoProvider, Err: errDown})
	for name, c := range map[string]struct {
		scripts [][]step
		calls   int
		text    string
	}{
		"third time lucky":     {[][]step{{busy}, {busy}, {write("Done.")}}, 3, "Done."},
		"never":                {[][]step{{busy}, {busy}, {busy}, {write("Done.")}}, 3, llm.RateLimited.Sentence(lang.Voice{})},
		"no use":               {[][]step{{final}, {write("Done.")}}, 1, llm.NoProvider.Sentence(lang.Voice{})},
		"seen":                 {[][]step{{write("So"), busy}, {write("Done.")}}, 1, "So\n\n_(" + llm.RateLimited.Sentence(lang.Voice{}) + ")_"},
		"spaces are not seen":  {[][]step{{write(" "), busy}, {write("Done.")}}, 2, "Done."},
		"empty":                {[][]step{{}, {write("Done.")}}, 2, "Done."},
		"empty twice":          {[][]step{{}, {alive()}, {write("Done.")}}, 2, llm.ProviderIssue.Sentence(lang.Voice{})},
		"busy, empty, busy":    {[][]step{{busy}, {}, {busy}, {write("Done.")}}, 3, llm.RateLimited.Sentence(lang.Voice{})},
		"a panic":              {[][]step{{panics()}, {write("Done.")}}, 1, llm.ProviderIssue.Sentence(lang.Voice{})},
		"filtered":             {[][]step{{write("So"), finish(llm.FinishFilter)}}, 1, "So\n\n_(The answer was stopped by the provider's content filter.)_"},
		"filtered from the on": {[][]step{{finish(llm.FinishFilter)}}, 1, llm.ContentFilter.Sentence(lang.Voice{})},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			n := w.start()
			w.model.queue(c.scripts...)
			acc := n.sendText("A")
			if _, said := w.waitAnswer(acc); said != c.text || len(w.model.requests()) != c.calls {
				w.Errorf("after %d calls it said %q; want %q and %d", len(w.model.requests()), said, c.text, c.calls)
			}
			if c.text == llm.RateLimited.Sentence(lang.Voice{}) {
				w.model.clear()
				w.wantAnswer(n.sendText("B"), answer.Completed, "You said: B")
				calls := w.model.requests()
				if got := calls[len(calls)-1].texts(); !slices.Equal(got, []string{"A", "B"}) {
					w.Errorf("the next prompt holds %q", got)
				}
			}
		}))
	}
}

// A shutdown lets short answers end and leaves the others to the next start; nothing is taken meanwhile.
func TestShutdown(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Grace = 10 * time.Second
		n := w.start()
		w.model.queue([]step{pause(5 * time.Second), write("Short.")})
		short := n.sendText("A")
		time.Sleep(time.Second)
		begun := time.Now()
		n.Interrupt()
		synctest.Wait()
		if _, err := n.ProcessMessage(w.Context(), w.message(room, "ada", "B")); !errors.Is(err, chat.ErrShutdown) {
			w.Errorf("a message during shutdown: %v", err)
		}
		n.shutdown()
		if took := time.Since(begun); took != 4*time.Second {
			w.Errorf("shutdown took %v", took)
		}
		w.wantAnswer(short, answer.Completed, "Short.")

		n = w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)}, []step{write("Adopted.")})
		long := n.sendText("C")
		time.Sleep(time.Second)
		begun = time.Now()
		n.shutdown()
		if took := time.Since(begun); took != 10*time.Second {
			w.Errorf("shutdown took %v", took)
		}
		if call := w.model.requests()[1]; !errors.Is(call.Cause, chat.ErrShutdown) {
			w.Errorf("the model call ended because of %v", call.Cause)
		}
		w.start()
		w.wantAnswer(long, answer.Completed, "Adopted.")
		w.wantVisible("Short.", "Adopted.")
	})
}

// What no user had time to read is taken back, what was read is frozen.
func TestWithdrawOrFreeze(t *testing.T) {
	for name, c := range map[string]struct {
		shown []string
		gone  bool
	}{
		"nothing":                  {nil, true},
		"23 characters":            {[]string{strings.Repeat("é", 23)}, true},
		"24 characters":            {[]string{strings.Repeat("é", 24)}, false},
		"24 characters of 2 texts": {[]string{strings.Repeat("x", 12), strings.Repeat("y", 12)}, false},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			n := w.start()
			var script []step
			for _, s := range c.shown {
				script = append(script, write(s), pause(time.Second))
			}
			w.model.queue(append(script, pause(time.Minute)))
			a := n.sendText("A")
			time.Sleep(5 * time.Second)
			b := n.sendText("B")
			w.wantAnswer(b, answer.Completed, "You said: B")
			r, want := w.run(a), strings.Join(c.shown, "")+"\n\n_(Interrupted by a newer message.)_"
			if r.Outcome.Status != answer.Superseded || r.Outcome.Withdrawn != c.gone {
				w.Errorf("A ended as %+v", r.Outcome)
			}
			if got := w.chat.visible(); len(got) != 1 && c.gone || !c.gone && (len(got) != 2 || got[0] != want) {
				w.Errorf("the chat shows %q", got)
			}
			if said := w.storedText(r.Said()); c.gone != (said == "") {
				w.Errorf("stored is %q", said)
			}
		}))
	}
}

// Statuses alone are taken back too.
func TestStatusesAreWithdrawn(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.addActions(&fakeAction{name: "PLAY", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
			c.Update("a long status line, which is not text of the model")
			return takes(time.Hour)(ctx, c)
		}})
		w.model.queue([]step{call(0, "a", "PLAY", "{}")})
		n := w.start()
		a := n.sendText("A")
		time.Sleep(time.Second)
		if got := w.chat.visible(); len(got) != 1 {
			w.Errorf("the chat shows %q; want 1", got)
		}
		w.wantAnswer(n.sendText("B"), answer.Completed, "You said: B")
		w.wantAnswer(a, answer.Superseded, "")
		w.wantVisible("You said: B")
	})
}

// How a run ends is journalled before anybody sees it, and who adopts it shows exactly that.
func TestVerdictIsKept(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.chat.slow = time.Second
		p := &gatewaytest.Faults{}
		n := w.startFaulty(p)
		w.model.queue([]step{write(fox), pause(5 * time.Second), write(" The end.")}, []step{write("Something else")})
		acc := n.sendText("A")
		for w.run(acc).Verdict == nil {
			if slices.Contains(w.chat.visible(), fox+" The end.") {
				w.Fatal("the last word is shown before its verdict is stored; want it after")
			}
			time.Sleep(10 * time.Millisecond)
		}
		p.Kill()
		n.shutdown()
		w.start()
		w.wantAnswer(acc, answer.Completed, fox+" The end.")
		if got := w.chat.visible(); !slices.Equal(got, []string{fox + " The end."}) || len(w.model.requests()) != 1 {
			w.Errorf("the chat shows %q; the model was asked %d times", got, len(w.model.requests()))
		}
	})
}

// An address that is gone forever ends its run; any other trouble is tried again.
func TestOpenFails(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want answer.Status
		n    int
	}{"gone": {chat.ErrUnreached, answer.Failed, 0}, "for now": {errDown, answer.Completed, 1}} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			open, tries := w.cfg.Open, 0
			w.cfg.Open = func(ctx context.Context, r chat.Run) (core.Surface, error) {
				if tries++; tries == 1 {
					return nil, c.err
				}
				return open(ctx, r)
			}
			n := w.start()
			acc := n.sendText("A")
			if o, _ := w.waitAnswer(acc); o.Status != c.want || len(w.model.requests()) != c.n {
				w.Errorf("it ended as %+v; the model was asked %d times", o, len(w.model.requests()))
			}
		}))
	}
}
