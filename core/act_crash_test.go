package core_test

import (
	"context"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/llm"
	"parley/gatewaytest"
)

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
