package core_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/llm"
)

// The first question after a start has the actions of servers that are being started.
func TestFirstQuestionWaitsForActions(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		up := make(chan struct{})
		var live []action.Action
		w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{
			Name: "server",
			Live: func() []action.Action { return live },
			Starting: func(ctx context.Context) {
				select {
				case <-up:
				case <-ctx.Done():
				}
			},
		})
		n := w.start()
		time.AfterFunc(3*time.Second, func() {
			live = []action.Action{&fakeAction{name: "LOOK_UP"}}
			close(up)
		})
		w.model.queue([]step{call(0, "a", "LOOK_UP", "{}")}, []step{write("Found.")})
		begun := time.Now()
		w.wantAnswer(n.sendText("look it up"), answer.Completed, "Found.")
		if asked := w.model.requests()[0]; !slices.ContainsFunc(asked.Tools, func(t llm.Tool) bool { return t.Name == "LOOK_UP" }) || asked.From.Sub(begun) != 3*time.Second {
			t.Errorf("after %v the model has the tools %+v", asked.From.Sub(begun), asked.Tools)
		}
	})
}
