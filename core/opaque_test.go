package core_test

import (
	"context"
	"encoding/json"
	"testing"

	"parley/core/llm"
)

// What a provider wants back goes with the calls of the same answer, and into nothing else: not into the next answer.
func TestOpaqueLivesWithinOneAnswer(t *testing.T) {
	withHarness(t, func(w *harness) {
		sealed := &llm.Opaque{Owner: "wire", Data: json.RawMessage(`"signature"`)}
		w.addActions(&fakeAction{name: "DO"})
		seal := func(context.Context) (*llm.Chunk, error) { return &llm.Chunk{Opaque: sealed}, nil }
		w.model.queue([]step{write("Wait."), call(0, "a", "DO", "{}"), seal, finish(llm.FinishCalls)}, []step{write("Done."), seal}, []step{write("Again.")})
		n := w.start()
		for _, text := range []string{"do it", "and now?"} {
			_, _, err := n.readAnswer(n.sendText(text).Run)
			w.Must(err)
		}
		if len(w.model.calls) != 3 {
			t.Fatalf("%d calls; want 3", len(w.model.calls))
		}
		for i, c := range w.model.calls {
			found := 0
			for _, m := range c.Messages {
				if m.Opaque != nil {
					found++
					if len(m.Calls) == 0 || m.Opaque != sealed {
						t.Errorf("call %d: it is in %+v", i, m)
					}
				}
			}
			if want := []int{0, 1, 0}[i]; found != want {
				t.Errorf("call %d has it %d times, want %d", i, found, want)
			}
		}
	})
}
