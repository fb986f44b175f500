package core_test

import (
	"context"
	"testing"
	"testing/synctest"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/storage"
)

// heldUp holds up the readers of questions until release is closed, so that all of them see what there is before.
type heldUp struct {
	storage.Store
	release chan struct{}
}

func (s heldUp) Question(ctx context.Context, id string) (chat.Question, error) {
	q, err := s.Store.Question(ctx, id)
	<-s.release
	return q, err
}

// If two options are pressed at the same moment, only one counts, even if different users pressed them. The other press is told that the
// question has closed; only the same option of the same person counts as the same press.
func TestTwoPressesAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		by    chat.EntityID // of the second press
		other int           // its option
		lost  bool
	}{
		"two options":            {"ada", 1, true},
		"the same option":        {"ada", 0, false},
		"two people":             {"bob", 1, true},
		"two people, one option": {"bob", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(w *harness) {
				h := &chooser{says: "Done."}
				w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "test", ChoiceHandlers: []action.ChoiceHandler{h}})
				w.cfg.Access.Allowed.Accounts["bob"] = true
				n := w.start()
				w.waitAnswer(n.sendText("A"))
				acc := n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "Well?", Ask: &chat.Question{
					Options: []string{"Yes", "No"}, For: []chat.EntityID{"ada", "bob"}, Handler: "test",
				}})
				w.waitAnswer(acc)
				q := w.question(acc)
				release := make(chan struct{})
				w.cfg.Store = heldUp{w.Store, release}
				racing := w.start()
				results := make(chan chat.Accepted, 2)
				for _, p := range []chat.Choice{chat.Choice(pressed(q, 0).by("ada")), chat.Choice(pressed(q, c.other).by(c.by))} {
					go func() {
						acc, err := racing.ProcessMessage(w.Context(), p)
						if err != nil {
							w.Error(err)
						}
						results <- acc
					}()
				}
				synctest.Wait()
				close(release)
				a, b := <-results, <-results
				refused := 0
				for _, acc := range []chat.Accepted{a, b} {
					if acc.Refused != "" {
						refused++
					} else {
						w.waitAnswer(acc)
					}
				}
				if want := map[bool]int{true: 1, false: 0}[c.lost]; refused != want {
					w.Errorf("%d presses are refused, want %d: %+v, %+v", refused, want, a, b)
				}
				w.chat.forgetSeen()
			})
		})
	}
}
