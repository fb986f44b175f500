package essentials

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/action"
	"parley/core/action/actiontest"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

// What is offered hangs on the room and on who asks, and comes in one order.
func TestOfferDependsOnRoomAndUser(t *testing.T) {
	rooms := []string{"FOLLOW_ROOM", "UNFOLLOW_ROOM", "MUTE_ROOM", "UNMUTE_ROOM"}
	withHarness(t, func(w *harness) {
		for _, c := range []struct {
			in   chat.Room
			who  chat.EntityID
			want []string
		}{
			{ada, "ada", append(rooms, "SEND_MESSAGE", "CREATE_POST", "CHOOSE_OPTION", "ASK_FORM", "UPDATE_ENTITY", "REMEMBER_FACT", "FORGET_FACT", "UPDATE_SETTINGS")},
			{tea, "ada", append(append([]string{"IGNORE", "STOP"}, rooms...), "SEND_MESSAGE", "CREATE_POST", "CHOOSE_OPTION", "ASK_FORM", "UPDATE_ENTITY", "REMEMBER_FACT", "FORGET_FACT", "UPDATE_SETTINGS")},
			{tea, "bob", append(append([]string{"IGNORE", "STOP"}, rooms...), "SEND_MESSAGE", "CHOOSE_OPTION", "ASK_FORM", "UPDATE_ENTITY", "REMEMBER_FACT", "FORGET_FACT")},
			{tea, "guest", append(append([]string{"IGNORE", "STOP"}, rooms...), "CHOOSE_OPTION", "ASK_FORM", "REMEMBER_FACT", "FORGET_FACT")},
		} {
			want := append(c.want, "ASK_PROVIDERS") // for what files say
			if diff := cmp.Diff(want, w.tools(c.in, c.who)); diff != "" {
				t.Errorf("%s in %s (-want +got):\n%s", c.who, c.in.ID, diff)
			}
		}
	})
	for _, a := range New(Deps{}).Actions { // an unknown user of a web chat
		s := a.Spec()
		err := actiontest.Make(t, a, actiontest.Call{Scene: action.TurnContext{Private: true}}).Err
		everyones := slices.Contains([]string{"CHOOSE_OPTION", "ASK_FORM", "REMEMBER_FACT", "FORGET_FACT"}, s.Name)
		if !s.Unlisted && !everyones && !errors.Is(err, actiontest.ErrNotOffered) {
			t.Errorf("a guest in private is offered %s", s.Name)
		}
	}
}

// IGNORE and STOP end a turn without a word and without a further round; REPLY without that round.
func TestEndingActionsNeedNoFurtherRound(t *testing.T) {
	for _, c := range []struct {
		action, params string
		want           answer.Status
		said           string
		then           chat.Attention
	}{
		{"IGNORE", "{}", answer.Ignored, "", chat.Normal},
		{"STOP", "{}", answer.Ignored, "", chat.Quiet},
		{"NONE", "{}", answer.Ignored, "", chat.Normal},
		{"REPLY", `{"text":"Hello."}`, answer.Completed, "Hello.", chat.Normal},
		{"respond", `{}`, answer.Ignored, "", chat.Normal},
	} {
		withHarness(t, func(w *harness) {
			status, _, said := w.runAction(tea, "bob", c.action, c.params)
			then := require.Value(w.store.Attention(w.Context(), tea.ID))(w)
			if remembered, err := w.store.Recent(w.Context(), tea.ID, chat.ActionResult, 0, 9); len(remembered) > 0 != (c.action == "REPLY" || c.action == "respond") || err != nil {
				t.Errorf("%s: remembered is %+v, %v", c.action, remembered, err)
			}
			kept := require.Value(w.store.Recent(w.Context(), tea.ID, chat.IgnoredKind, 0, 9))(w)
			if decided := c.action == "IGNORE" || c.action == "STOP" || c.action == "NONE"; len(kept) > 0 != decided || decided && kept[0].Actions[0] != c.action {
				t.Errorf("%s: remembered is %+v", c.action, kept)
			}
			if status != c.want || said != c.said || then != c.then || w.model.asked != 1 {
				t.Errorf("%s: %s, %q, attention %q, after %d rounds", c.action, status, said, then, w.model.asked)
			}
		})
	}
}

func TestRoomActions(t *testing.T) {
	for action, want := range map[string]chat.Attention{
		"FOLLOW_ROOM": chat.Ambient, "UNFOLLOW_ROOM": chat.Quiet, "MUTE_ROOM": chat.Muted, "UNMUTE_ROOM": chat.Normal,
	} {
		for params, in := range map[string]chat.Room{`{}`: tea, `{"room":"#Tea"}`: tea, `{"room":"tea"}`: ada, `{"room":"#tea"}`: ada, `{"room":"fake/tea"}`: ada} {
			withHarness(t, func(w *harness) {
				w.send(tea, "bob", "hello")
				if action == "UNMUTE_ROOM" && in.ID != tea.ID {
					w.must(w.store.SetAttention(w.Context(), tea.ID, chat.Muted))
				}
				w.wantResult(in, "ada", action, params, " tea")
				if got, err := w.store.Attention(w.Context(), tea.ID); got != want || err != nil {
					t.Errorf("%s %s in %s: %q, %v; want %q", action, params, in.ID, got, err, want)
				}
			})
		}
	}
}

// A muted room stays muted for all its members, and a member can unmute it from another room.
func TestMutedRoomStaysMuted(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.send(tea, "bob", "hello")
		w.wantResult(tea, "bob", "MUTE_ROOM", "{}", "I've muted tea.")
		if acc := w.send(tea, "ada", "are you there?"); acc.Run != "" {
			t.Errorf("it is answered in %s; want none", acc.Run)
		}
		w.wantResult(bob, "bob", "UNMUTE_ROOM", `{"room":"tea"}`, "I answer in tea again.")
		if acc := w.send(tea, "ada", "and now?"); acc.Run == "" {
			t.Error("a message in the unmuted room started no run; want one")
		}
	})
}

// Rooms are those that the asker takes part in (SE-08); an owner may mean any.
func TestWhichRooms(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.send(tea, "bob", "hello")
		w.send(garden, "guest", "hello")
		twin := chat.Room{ID: "other/tea", Kind: chat.Group, Connector: "other", Name: "tea"}
		w.must(w.store.SaveRoom(w.Context(), twin))
		w.must(w.store.SaveRoom(w.Context(), chat.Room{ID: "fake/pond1", Kind: chat.Group, Connector: "fake", Name: "pond"}))
		w.must(w.store.SaveRoom(w.Context(), chat.Room{ID: "fake/pond2", Kind: chat.Group, Connector: "fake", Name: "pond"}))
		w.wantResult(bob, "bob", "MUTE_ROOM", `{}`, "Error: that is a private conversation")
		w.wantResult(bob, "bob", "MUTE_ROOM", `{"room":"garden"}`, `Error: there is no room "garden" that the user is a member of`)
		w.wantResult(bob, "bob", "MUTE_ROOM", `{"room":"fake/garden"}`, `Error: there is no room "fake/garden"`)
		w.wantResult(bob, "bob", "MUTE_ROOM", `{"room":"tea"}`, "muted tea")
		w.wantResult(ada, "ada", "MUTE_ROOM", `{"room":"garden"}`, "muted garden")
		w.wantResult(ada, "ada", "UNMUTE_ROOM", `{"room":"garden"}`, "in garden")
		w.wantResult(ada, "ada", "MUTE_ROOM", `{"room":"tea"}`, "muted tea") // the one of the same connector
		w.wantResult(ada, "ada", "MUTE_ROOM", `{"room":"pond"}`, `use an id: fake/pond1, fake/pond2`)
		w.wantResult(garden, "guest", "MUTE_ROOM", `{"room":"tea"}`, "Error: the user is a guest")
		w.wantResult(garden, "guest", "MUTE_ROOM", `{"rooms":"tea"}`, "Error: The parameters are invalid")
		if got, err := w.store.Attention(w.Context(), twin.ID); got != chat.Normal || err != nil {
			t.Errorf("the other tea: %q, %v; want %q", got, err, chat.Normal)
		}
	})
}

func TestSendMessage(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.send(tea, "bob", "hello")
		w.send(garden, "guest", "hello")
		w.must(w.store.SaveRoom(w.Context(), chat.Room{ID: "fake/attic", Kind: chat.Group, Connector: "fake", Name: "attic"}))
		w.wantResult(bob, "bob", "SEND_MESSAGE", `{"room":"#tea","text":"Tea is ready."}`, "The message will be sent to tea")
		w.wantResult(bob, "bob", "SEND_MESSAGE", `{"room":"garden","text":"I am the owner."}`, "Error: there is no room")
		w.wantResult(bob, "bob", "SEND_MESSAGE", `{"room":"fake/bob","text":"Hello."}`, "Error: that is the current room")
		w.wantResult(bob, "bob", "SEND_MESSAGE", `{"room":"tea","text":""}`, `Error: The parameters are invalid: text: "" contains 0 characters`)
		w.wantResult(ada, "ada", "SEND_MESSAGE", `{"room":"garden","text":"Come in."}`, "The message will be sent to garden")
		w.wantResult(ada, "ada", "SEND_MESSAGE", `{"room":"attic","text":"Anybody?"}`, "Error: there is no message in attic yet")
		w.wantResult(garden, "guest", "SEND_MESSAGE", `{"room":"tea","text":"Hello."}`, `Error: There is no action "SEND_MESSAGE".`)
		if diff := cmp.Diff([]string{"bob: hello", "agent: Done.", "agent: Tea is ready."}, w.texts(tea)); diff != "" {
			t.Errorf("tea (-want +got):\n%s", diff)
		}
		if got := strings.Join(w.texts(garden), "|"); !strings.Contains(got, "agent: Come in.") || strings.Contains(got, "owner") {
			t.Errorf(`garden: %s; want it to contain "agent: Come in." and it without "owner"`, got)
		}
	})
}

// CHOOSE_OPTION asks the author of the message, and their choice continues as their message. Too few and too many
// options are refused.
func TestChooseOption(t *testing.T) {
	withHarness(t, func(w *harness) {
		status, _, said := w.runAction(tea, "bob", "CHOOSE_OPTION", `{"question":"Which tea?","options":["Assam","Sencha"]}`)
		if status != answer.Completed || said != "Which tea?" || w.model.asked != 1 {
			t.Errorf("%s, %q after %d rounds", status, said, w.model.asked)
		}
		open, err := w.store.OpenQuestions(w.Context(), tea.ID)
		w.must(err)
		if len(open) != 1 || !cmp.Equal(open[0].For, []chat.EntityID{"bob"}) || !cmp.Equal(open[0].Options, []string{"Assam", "Sencha"}) {
			t.Fatalf("open is %+v", open)
		}
		_, err = w.rt.ProcessMessage(w.Context(), chat.Choice{Question: open[0].ID, Option: 1, Room: tea.ID, Author: "bob", Name: "bob", Roles: []string{"guest"}})
		w.must(err)
		time.Sleep(time.Minute)
		if got := w.texts(tea); !cmp.Equal(got[len(got)-2:], []string{"bob: Sencha", "agent: Done."}) {
			t.Errorf("said was %q", got)
		}
		w.wantResult(tea, "bob", "CHOOSE_OPTION", `{"question":"Tea?","options":["Yes"]}`, "Error: The parameters are invalid")
		w.wantResult(tea, "bob", "CHOOSE_OPTION", `{"question":"Tea?","options":[" ","No"]}`, "Error: ask: an option without text")
	})
	choose := actiontest.Named(t, New(Deps{}), "CHOOSE_OPTION")
	if made := actiontest.Make(t, choose, actiontest.Call{Scene: action.TurnContext{Room: chat.Room{Kind: chat.Feed}}}); !errors.Is(made.Err, actiontest.ErrNotOffered) {
		t.Errorf("in a feed: %+v", made)
	}
}

type painter struct{ err error }

func (p painter) GenerateImage(_ context.Context, prompt string) (llm.File, error) {
	return llm.File{Type: "image/png", Data: []byte(prompt)}, p.err
}

func (p painter) Speak(_ context.Context, text, _ string) (llm.File, error) {
	return llm.File{Type: "audio/ogg", Data: []byte(text)}, p.err
}

// Texts are spoken where there is a model for it.
func TestSpeak(t *testing.T) {
	a := actiontest.Named(t, New(Deps{Speaker: painter{}}), "SPEAK")
	if made := actiontest.Make(t, a, actiontest.Call{Parameters: `{"text":"hello"}`}); made.Err != nil || len(made.Files) != 1 || string(made.Files[0].Data) != "hello" {
		t.Errorf("%+v", made)
	}
	broken := actiontest.Named(t, New(Deps{Speaker: painter{errors.New("hoarse")}}), "SPEAK")
	if made := actiontest.Make(t, broken, actiontest.Call{Parameters: `{"text":"hello"}`}); made.Err == nil || made.Files != nil {
		t.Errorf("%+v", made)
	}
}

// Pictures are made where there is a painter.
func TestGenerateImage(t *testing.T) {
	a := actiontest.Named(t, New(Deps{ImageGenerator: painter{}}), "GENERATE_IMAGE")
	made := actiontest.Make(t, a, actiontest.Call{Parameters: `{"prompt":"a cup"}`})
	if made.Err != nil || len(made.Files) != 1 || string(made.Files[0].Data) != "a cup" {
		t.Errorf("%+v", made)
	}
	broken := actiontest.Named(t, New(Deps{ImageGenerator: painter{errors.New("no paint")}}), "GENERATE_IMAGE")
	if made := actiontest.Make(t, broken, actiontest.Call{Parameters: `{"prompt":"a cup"}`}); made.Err == nil || made.Files != nil {
		t.Errorf("%+v", made)
	}
	for _, a := range New(Deps{}).Actions {
		if a.Spec().Name == "GENERATE_IMAGE" {
			t.Error("GENERATE_IMAGE is offered without an image model; want it left out")
		}
	}
}
