package essentials

import (
	"strings"
	"testing"

	"parley/core/action"
	"parley/core/chat"
	"parley/internal/require"
)

// Facts are noted for one room, once for each person, and go with the message that they came from. Who asks can have their own replaced and
// forgotten, and no others'.
func TestRememberAndForgetFacts(t *testing.T) {
	withHarness(t, func(w *harness) {
		known := func(want ...string) {
			t.Helper()
			w.send(tea, "ada", "hello")
			got := w.prompt()
			for _, fact := range []string{"bob: drinks Assam", "bob: drinks Sencha", "room: meets on Mondays", "eve: has a dog"} {
				n, wanted := strings.Count(got, "- "+fact), 0
				for _, f := range want {
					if f == fact {
						wanted = 1
					}
				}
				if n != wanted {
					t.Errorf("%q stands %d times in the prompt; want %d", fact, n, wanted)
				}
			}
		}
		w.wantResult(tea, "bob", "REMEMBER_FACT", `{"fact":"drinks Assam"}`, "Remembered: bob: drinks Assam")
		w.wantResult(tea, "bob", "REMEMBER_FACT", `{"fact":"Drinks  Assam!"}`, "Remembered")
		w.wantResult(tea, "bob", "REMEMBER_FACT", `{"fact":"drinks Assam"}`, "Remembered")
		w.wantResult(tea, "bob", "REMEMBER_FACT", `{"fact":"meets on Mondays","about":"room"}`, "Remembered: room: meets on Mondays")
		w.wantResult(tea, "eve", "REMEMBER_FACT", `{"fact":"meets never","about":"room"}`, "Error: the user is a guest")
		w.wantResult(tea, "eve", "REMEMBER_FACT", `{"fact":"has a dog"}`, "Remembered: eve: has a dog")
		w.wantResult(tea, "bob", "REMEMBER_FACT", `{"fact":" ?! "}`, "Error: there is no fact to remember")
		w.wantResult(tea, "eve", "REMEMBER_FACT", `{"fact":"drinks Assam"}`, "Remembered: eve: drinks Assam") // both do
		known("bob: drinks Assam", "room: meets on Mondays", "eve: has a dog")
		w.send(garden, "ada", "hello")
		if got := w.prompt(); strings.Contains(got, "Assam") {
			t.Errorf("another room knows it:\n%s", got)
		}
		w.wantResult(tea, "eve", "FORGET_FACT", `{"fact":"bob: drinks Assam"}`, "Error: that fact is about someone else")
		w.wantResult(tea, "eve", "FORGET_FACT", `{"fact":"drinks Assam"}`, "Forgotten.")
		w.wantResult(tea, "eve", "FORGET_FACT", `{"fact":"drinks Assam"}`, "Error: that fact is about someone else")
		w.wantResult(tea, "eve", "FORGET_FACT", `{"fact":"room: meets on Mondays"}`, "Error: that fact is about someone else")
		w.wantResult(tea, "bob", "FORGET_FACT", `{"fact":"drinks water"}`, "Error: no such fact is known here")
		w.wantResult(tea, "bob", "REMEMBER_FACT", `{"fact":"drinks Sencha","instead_of":"bob: drinks Assam"}`, "Remembered: bob: drinks Sencha")
		known("bob: drinks Sencha", "room: meets on Mondays", "eve: has a dog")
		w.wantResult(tea, "bob", "FORGET_FACT", `{"fact":"meets on Mondays"}`, "Forgotten.")
		w.wantResult(tea, "ada", "FORGET_FACT", `{"fact":"eve: has a dog"}`, "Forgotten.")
		known("bob: drinks Sencha")
		source := require.Value(w.store.Notes(w.Context(), tea.ID, "fact", 9))(w)
		w.must(w.store.Forget(w.Context(), source[0].Last))
		known()
	})
}

// A schedule changes nothing that is remembered about people, and how closely the agent listens.
func TestSchedulesChangeNothing(t *testing.T) {
	for by, want := range map[chat.EntityID]bool{"ada": true, "schedule/tea": false, "hook/ci": false} {
		s := action.TurnContext{Room: chat.Room{Kind: chat.Group}, Message: chat.Memory{Author: by}}
		for _, a := range New(Deps{}).Actions {
			switch name := a.Spec().Name; name {
			case "REMEMBER_FACT", "FORGET_FACT", "MUTE_ROOM", "FOLLOW_ROOM":
				if got := a.(action.Conditional).Available(s); got != want {
					t.Errorf("%s by %s: %v; want %v", name, by, got, want)
				}
			}
		}
	}
}
