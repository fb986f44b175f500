package core_test

import (
	"errors"
	"testing"

	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/lang"
)

// A model that refuses tools or images is answered for in one sentence, and the room goes on.
func TestRefusedAbilitiesAreSaid(t *testing.T) {
	for _, kind := range []llm.FailureKind{llm.NoTools, llm.NoVision} {
		withHarness(t, func(w *harness) {
			w.model.queue([]step{fails(&llm.Failure{Kind: kind, Err: errors.New("400")})}, []step{write("Noon.")})
			n := w.start()
			if o, said := w.waitAnswer(n.sendText("What is it?")); o.Status != answer.Failed || o.Failure != kind || said != kind.Sentence(lang.Voice{}) || len(w.model.requests()) != 1 {
				t.Errorf("%+v %q", o, said)
			}
			w.wantAnswer(n.sendText("And the time?"), answer.Completed, "Noon.")
		})
	}
}
