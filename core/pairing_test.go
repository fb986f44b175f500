package core_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// withPairing runs a test in which strangers need a code. Ada is allowed, Olga owns the agent if owned is set.
func withPairing(t *testing.T, owned bool, play func(*harness, *process)) {
	t.Helper()
	withHarness(t, func(w *harness) {
		w.cfg.Access.Direct = access.DirectPairing
		if owned {
			w.cfg.Access.Owners = map[chat.EntityID]bool{"olga": true}
		}
		play(w, w.start())
	})
}

// chatAs is what a user writes in their own direct chat, and what they read: "" is silence.
func (n *process) chatAs(who chat.EntityID, text string) string {
	n.h.Helper()
	m := n.h.message(chat.RoomID("fake/"+who), who, text)
	acc := n.send(m)
	_, said := n.h.waitAnswer(acc)
	return said
}

var codes = regexp.MustCompile(`[A-Z2-9]{4}-[A-Z2-9]{4}`)

// codeIn is the one that a user was told.
func (w *harness) codeIn(said string) string {
	w.Helper()
	code := codes.FindString(said)
	if code == "" {
		w.Fatalf("there is no code in %q", said)
	}
	return code
}

// A stranger hears one sentence with a code. The owner brings it to the agent, and the stranger is let in, for good.
func TestPairing(t *testing.T) {
	withPairing(t, true, func(w *harness, n *process) {
		code := w.codeIn(n.chatAs("eve", "Hello"))
		if said := n.chatAs("eve", "Hello?"); said != "" {
			w.Errorf("then she hears %q; want none", said)
		}
		time.Sleep(10 * time.Minute)
		if again := w.codeIn(n.chatAs("eve", "Hello??")); again != code {
			w.Errorf("later she hears another code, %s; want %s", again, code)
		}
		if said := n.chatAs("ada", "/pair "+code); said != "You said: /pair "+code {
			w.Errorf("who is not the owner reads %q", said)
		}
		if said := n.chatAs("olga", "/pair "+strings.ToLower(code)); !strings.Contains(said, "eve") {
			w.Errorf(`the owner reads %q; want it to contain "eve"`, said)
		}
		asked := len(w.model.requests())
		n.shutdown()
		n = w.start()
		if said := n.chatAs("eve", "And now?"); said != "You said: And now?" || len(w.model.requests()) != asked+1 {
			w.Errorf("then she hears %q", said)
		}
		m := w.message(group, "eve", "And here?")
		m.Addressed = true
		w.wantAnswer(n.send(m), answer.Completed, "You said: eve: And here?")
		w.Must(w.Store.RemoveUser(w.Context(), "eve"))
		if other := w.codeIn(n.chatAs("eve", "I am out?")); other == code {
			w.Error("a code lets a user in twice")
		}
	})
}

// The forms in which the owner may bring a code, and what is none.
func TestPairingCodes(t *testing.T) {
	withPairing(t, true, func(w *harness, n *process) {
		for i, form := range []string{"%s", "`%s`", "/pair %s", " /PAIR  %s ", "**%s**"} {
			who := chat.EntityID(fmt.Sprint("guest", i))
			code := w.codeIn(n.chatAs(who, "Hello"))
			if said := n.chatAs("olga", fmt.Sprintf(form, code)); !strings.Contains(said, string(who)) {
				w.Errorf("%s: %q", form, said)
			}
		}
		plain := strings.ReplaceAll(w.codeIn(n.chatAs("eve", "Hello")), "-", "")
		if said := n.chatAs("olga", plain); !strings.Contains(said, "eve") {
			w.Errorf(`%s: %q; want it to contain "eve"`, plain, said)
		}
		for text, want := range map[string]string{
			"/pair": "expired code", "/pair what": "expired code", "AAAA-AAAA": "expired code",
			"umbrella": "You said: umbrella", "Hello": "You said: Hello",
		} {
			if said := n.chatAs("olga", text); !strings.Contains(said, want) {
				w.Errorf("%q: the owner reads %q; want it to contain %q", text, said, want)
			}
		}
	})
}

// A code is good for an hour, and few strangers wait at a time: others hear nothing, and nothing is spent on anybody.
func TestPairingIsBounded(t *testing.T) {
	withPairing(t, true, func(w *harness, n *process) {
		code := w.codeIn(n.chatAs("eve", "Hello"))
		for i := range 10 {
			said := n.chatAs(chat.EntityID(fmt.Sprint("guest", i)), "Hello")
			if told := said != ""; told != (i < 4) {
				w.Errorf("guest %d hears %q", i, said)
			}
		}
		time.Sleep(time.Hour)
		if said := n.chatAs("olga", code); !strings.Contains(said, "expired code") {
			w.Errorf(`a code of before reads %q; want it to contain "expired code"`, said)
		}
		if next := w.codeIn(n.chatAs("eve", "Hello")); next == code {
			w.Error("a code has come back")
		}
		w.wantModelCalls(0)
	})
}

// Until there is an owner, strangers hear a neutral line once. Anyone who brings the owner's code is the owner, for good.
func TestOwnerCode(t *testing.T) {
	withPairing(t, false, func(w *harness, n *process) {
		code := require.Value(n.OwnerCode(w.Context()))(w)
		if said := n.chatAs("eve", "Hello"); codes.MatchString(said) || !strings.HasPrefix(said, "Sorry, I can't reply yet") {
			w.Errorf("without an owner a stranger reads %q", said)
		}
		if said := n.chatAs("eve", "Hello?"); said != "" {
			w.Errorf("then %q; want none", said)
		}
		n.shutdown()
		n = w.start()
		if again, err := n.OwnerCode(w.Context()); err != nil || again != code {
			w.Errorf("the next process has the code %q, %v; want %q", again, err, code)
		}
		if said := n.chatAs("olga", code); !strings.Contains(said, "You are now my owner") {
			w.Errorf(`the owner reads %q; want it to contain "You are now my owner"`, said)
		}
		if said := n.chatAs("eve", code); strings.Contains(said, "You are now my owner") {
			w.Errorf(`a second one reads %q; want it without "You are now my owner"`, said)
		}
		n.shutdown()
		n = w.start()
		if again, err := n.OwnerCode(w.Context()); err != nil || again != "" {
			w.Errorf("there is still a code, %q, %v", again, err)
		}
		time.Sleep(10 * time.Minute)
		if said := n.chatAs("olga", w.codeIn(n.chatAs("eve", "Hello"))); !strings.Contains(said, "eve") {
			w.Errorf(`the owner reads %q; want it to contain "eve"`, said)
		}
		w.wantModelCalls(0)
	})
}

// No user guesses the owner's code: a few wrong ones, and the right one does nothing for an hour.
func TestOwnerCodeIsNotGuessed(t *testing.T) {
	withPairing(t, false, func(w *harness, n *process) {
		code := require.Value(n.OwnerCode(w.Context()))(w)
		for i := range 7 {
			said := n.chatAs("eve", fmt.Sprintf("AAAA-AAA%c", 'A'+i))
			if told := strings.Contains(said, "expired code"); told != (i < 5) {
				w.Errorf("try %d: %q", i, said)
			}
		}
		if said := n.chatAs("eve", code); strings.Contains(said, "owner") {
			w.Errorf(`after too many tries: %q; want it without "owner"`, said)
		}
		time.Sleep(time.Hour)
		if said := n.chatAs("eve", code); !strings.Contains(said, "You are now my owner") {
			w.Errorf(`an hour later: %q; want it to contain "You are now my owner"`, said)
		}
	})
}

// Two bring the owner's code at the same time: there is one owner.
func TestOneOwner(t *testing.T) {
	withPairing(t, false, func(w *harness, n *process) {
		code := require.Value(n.OwnerCode(w.Context()))(w)
		var accepted []chat.Accepted
		for i := range 6 {
			who := chat.EntityID(fmt.Sprint("guest", i))
			accepted = append(accepted, n.send(w.message(chat.RoomID("fake/"+who), who, code)))
		}
		owners := 0
		for _, acc := range accepted {
			if _, said := w.waitAnswer(acc); strings.Contains(said, "You are now my owner") {
				owners++
			}
		}
		people := require.Value(w.Store.People(w.Context()))(w)
		if owners != 1 || len(people) != 1 || !people[0].Owner {
			w.Errorf("%d were told that they own it; in are %+v", owners, people)
		}
	})
}

// Of many who bring one code, one lets a user in.
func TestLetInOnce(t *testing.T) {
	withPairing(t, true, func(w *harness, n *process) {
		code := w.codeIn(n.chatAs("eve", "Hello"))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, err := n.Approve(w.Context(), code); err != nil && !errors.Is(err, chat.ErrNotFound) {
					w.Error(err)
				}
			})
		}
		all.Wait()
		synctest.Wait()
		if people, err := w.Store.People(w.Context()); err != nil || len(people) != 1 {
			w.Errorf("in are %+v, %v; want 1", people, err)
		}
		if _, err := n.Approve(w.Context(), code); !errors.Is(err, chat.ErrNotFound) {
			w.Errorf("the code again: %v", err)
		}
	})
}

// With a code the web can't be left, nor entered: its people are let in by other means.
func TestOpenConnectorKnowsNoCodes(t *testing.T) {
	withPairing(t, false, func(w *harness, n *process) {
		n.shutdown()
		w.cfg.Access.Open = map[string]bool{"fake": true}
		n = w.start()
		code := require.Value(n.OwnerCode(w.Context()))(w)
		if said := n.chatAs("eve", code); said != "You said: "+code {
			w.Errorf("it says %q", said)
		}
		if _, err := w.Store.Owner(w.Context()); !errors.Is(err, chat.ErrNotFound) {
			w.Errorf("there is an owner: %v", err)
		}
	})
}
