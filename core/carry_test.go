package core_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/chat"
)

// What is chosen while the turn goes on is carried out beside it, also where no user gets to that before the turn is over: its
// answer is not said once more.
func TestCarriedLate(t *testing.T) {
	late := func(w *harness, n *process, acc chat.Accepted) {
		q := w.question(acc)
		carrier, err := w.Store.Choose(w.Context(), q.ID, 1, chat.Memory{ID: "choice", Room: room, Kind: chat.KindCommand, Author: "ada", Text: q.Options[1], At: time.Now()}, "ada")
		w.Must(err)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if run := w.run(carrier); !run.Outcome.Done() {
			w.Errorf("what carries the choice is %+v", run)
		}
	}
	t.Run("while it is waited for", func(t *testing.T) {
		withWaitingAction(t, action.Reads, []step{write("Enjoy.")}, func(w *harness, n *process, a *asking, acc chat.Accepted) {
			late(w, n, acc)
			w.wantVisible(fox + "\n\nNow playing Rain\n\nEnjoy.")
		})
	})
	t.Run("while it is not", func(t *testing.T) {
		withHarness(t, func(w *harness) {
			w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "choosers", ChoiceHandlers: []action.ChoiceHandler{&chooser{says: "Louder it is."}}})
			w.addActions(&fakeAction{name: "PLAY", do: func(ctx context.Context, call *action.Call) (action.Result, error) {
				call.Update("Now playing Dunes, at full length.")
				return action.Result{Text: "it plays"}, call.Ask(ctx, chat.Question{Options: []string{"Skip", "Louder"}, Handler: "test"})
			}})
			w.model.queue([]step{call(0, "a", "PLAY", "{}")}, []step{pause(time.Second), write("Enjoy.")})
			n := w.start()
			acc := n.sendText("play")
			time.Sleep(500 * time.Millisecond)
			late(w, n, acc)
			if got := strings.Join(w.chat.visible(), " | "); got != "Now playing Dunes, at full length.\n\nEnjoy. | → **Louder**\n\nLouder it is." {
				w.Errorf(`people see %q; want "Now playing Dunes, at full length.\n\nEnjoy. | → **Louder**\n\nLouder it is."`, got)
			}
		})
	})
}
