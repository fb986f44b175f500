package example

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/action"
	"parley/core/action/actiontest"
	"parley/core/chat"
)

var friend = action.TurnContext{Allowed: true}

func TestBrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		action := actiontest.Named(t, New(time.Minute), "BREW_TEA")
		made := actiontest.Make(t, action, actiontest.Call{Scene: friend, Parameters: `{"kind":"sencha","cups":2}`})
		want := []string{"🍵 Cup 1 of 2…", "🍵 Cup 2 of 2…", "🍵 2 × sencha is ready."}
		if diff := cmp.Diff(want, made.Shown); diff != "" || made.Err != nil || made.Text != "2 × sencha is ready." {
			t.Errorf("%q, %v\n%s", made.Text, made.Err, diff)
		}
	})
}

func TestPick(t *testing.T) {
	for name, c := range map[string]struct {
		call  actiontest.Call
		shown []string
		text  string
		err   error
	}{
		"the second":        {actiontest.Call{Chosen: []int{1}}, []string{"🍵 Which tea?", "🍵 Which tea?\n\n→ **sencha**", "🍵 sencha it is."}, "sencha was picked.", nil},
		"no choice":         {actiontest.Call{}, []string{"🍵 Which tea?", "⚠️ No one picked a tea."}, "", chat.ErrUnanswered},
		"it can't be asked": {actiontest.Call{Unaskable: chat.ErrUnseen}, []string{"🍵 Which tea?", "🍵 assam it is."}, "assam was picked.", nil},
	} {
		made := actiontest.Make(t, actiontest.Named(t, New(0), "PICK_TEA"), c.call)
		if diff := cmp.Diff(c.shown, made.Shown); diff != "" || made.Text != c.text || !errors.Is(made.Err, c.err) {
			t.Errorf("%s: %q, %v\n%s", name, made.Text, made.Err, diff)
		}
		if n := len(made.ShownFiles); n != 1 && c.err == nil || n != 0 && c.err != nil {
			t.Errorf("%s: it shows %d files", name, n)
		}
	}
}

// An order is made only with the consent of the user.
func TestOrder(t *testing.T) {
	const question = "🫖 Order 2 tins of tea?"
	for name, c := range map[string]struct {
		call    actiontest.Call
		shown   []string
		text    string
		refused string
		err     error
	}{
		"it asks":           {actiontest.Call{}, []string{question}, "", "", chat.ErrParked},
		"ordered":           {actiontest.Call{Waited: true, Consent: "Order"}, []string{question + "\n\n→ **Order**", "🫖 2 tins are ordered."}, "2 tins are ordered.", "", nil},
		"declined":          {actiontest.Call{Waited: true, Consent: "Don't"}, []string{question + "\n\n→ **Don't**"}, "", "The user declined. Nothing was ordered.", nil},
		"too late":          {actiontest.Call{Waited: true}, nil, "", "The user did not decide. Nothing was ordered.", nil},
		"it can't be asked": {actiontest.Call{Unaskable: chat.ErrUnseen}, []string{question}, "", "The user did not decide. Nothing was ordered.", nil},
	} {
		c.call.Parameters = `{"tins":2}`
		made := actiontest.Make(t, actiontest.Named(t, New(0), "ORDER_TEA"), c.call)
		if diff := cmp.Diff(c.shown, made.Shown); diff != "" || made.Text != c.text || made.Refused != c.refused || !errors.Is(made.Err, c.err) {
			t.Errorf("%s: tells the model %q, refused %q, %v\n%s", name, made.Text, made.Refused, made.Err, diff)
		}
		if waits := made.Waits != nil; waits != (c.err != nil) || waits && len(made.Waits.Ask.Options) != 2 {
			t.Errorf("%s: it waits for %+v", name, made.Waits)
		}
	}
}

func TestRefused(t *testing.T) {
	action := actiontest.Named(t, New(0), "BREW_TEA")
	for params, want := range map[string]error{`{}`: actiontest.ErrParameters, `{"kind":"coffee"}`: actiontest.ErrParameters, `{"kind":"assam","cups":7}`: actiontest.ErrParameters} {
		if made := actiontest.Make(t, action, actiontest.Call{Scene: friend, Parameters: params}); !errors.Is(made.Err, want) {
			t.Errorf("%s: %v", params, made.Err)
		}
	}
	if made := actiontest.Make(t, action, actiontest.Call{Parameters: `{"kind":"assam"}`}); !errors.Is(made.Err, actiontest.ErrNotOffered) {
		t.Errorf("a stranger: %v", made.Err)
	}
}

func TestMatch(t *testing.T) {
	act := New(0).Actions[0].(action.Matcher)
	for text, want := range map[string]bool{"tea!": true, " TEA! ": true, "tea": false, "tea! now": false} {
		if _, ok := act.Match(action.TurnContext{Message: chat.Memory{Text: text}}); ok != want {
			t.Errorf("%q: %v; want %v", text, ok, want)
		}
	}
}

func TestShelf(t *testing.T) {
	f, err := New(0).Providers[0].Provide(context.Background(), action.TurnContext{})
	if err != nil || f.Text != "On the tea shelf: assam, sencha." {
		t.Errorf(`%q, %v; want "On the tea shelf: assam, sencha."`, f.Text, err)
	}
}
