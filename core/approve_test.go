package core_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/intake"
	"parley/gatewaytest"
	"parley/internal/require"
)

// withAccessRequest runs a test in which the owner was asked whether to let Eve in.
func withAccessRequest(t *testing.T, play func(w *harness, n *process, code string, q chat.Question)) {
	t.Helper()
	withPairing(t, true, func(w *harness, n *process) {
		n.chatAs("olga", "Hello")
		code := w.codeIn(n.chatAs("eve", "Hello"))
		play(w, n, code, w.openQuestion("fake/olga"))
		w.chat.forgetSeen() // the message of the question says more after its run has ended
	})
}

// openQuestion is the one question that people are asked in a room.
func (w *harness) openQuestion(in chat.RoomID) chat.Question {
	w.Helper()
	all := require.Value(w.Store.OpenQuestions(w.Context(), in))(w)
	if len(all) != 1 {
		w.Fatalf("in %s people are asked %+v; want 1", in, all)
	}
	return all[0]
}

// timesShown counts how often a text can be seen.
func (w *harness) timesShown(text string) (n int) {
	for _, line := range w.chat.visible() {
		n += strings.Count(line, text)
	}
	return n
}

const (
	asksForEve = "eve (eve) would like to talk to me on fake. Approve?"
	eveIsIn    = "My owner approved you"
)

// The owner is asked once, however often she knocks and whichever process asks. Yes lets her in, and she hears of it.
func TestOwnerLetsIn(t *testing.T) {
	withAccessRequest(t, func(w *harness, n *process, code string, q chat.Question) {
		if !slices.Equal(q.Options, []string{"Approve", "No"}) || !slices.Equal(q.For, []chat.EntityID{"olga"}) || time.Until(q.Expires) > time.Hour {
			w.Errorf("asked is %+v", q)
		}
		n.shutdown()
		n = w.start()
		time.Sleep(10 * time.Minute)
		n.chatAs("eve", "Hello?")
		if asked := w.timesShown(asksForEve); asked != 1 {
			w.Errorf("the owner was asked %d times: %q; want 1", asked, w.chat.visible())
		}
		for who, want := range map[chat.EntityID]string{"eve": "This choice is not yours to make.", "ada": "This choice is not yours to make."} {
			if acc := n.deliver(chat.Choice(pressed(q, 0).by(who))); acc.Refused != want {
				w.Errorf("%s is told %q; want %q", who, acc.Refused, want)
			}
		}
		w.wantAnswer(n.deliver(chat.Choice(pressed(q, 0).by("olga"))), answer.Completed, asksForEve+"\n\n→ **Approve**\n\neve (eve) can now talk to me.")
		time.Sleep(time.Second)
		if w.timesShown(eveIsIn) != 1 {
			w.Errorf("she reads %q", w.chat.visible())
		}
		if said := n.chatAs("eve", "And now?"); said != "You said: And now?" {
			w.Errorf(`then she reads %q; want "You said: And now?"`, said)
		}
		if said := n.chatAs("olga", code); !strings.Contains(said, "expired code") {
			w.Errorf(`the code is good for more: %q; want it to contain "expired code"`, said)
		}
	})
}

// No is silence for as long as the code would have been good, and no trace for anybody else.
func TestOwnerTurnsAway(t *testing.T) {
	withAccessRequest(t, func(w *harness, n *process, code string, q chat.Question) {
		w.wantAnswer(n.deliver(chat.Choice(pressed(q, 1).by("olga"))), answer.Completed, asksForEve+"\n\n→ **No**\n\nOkay, I won't reply to them.")
		if said := n.chatAs("olga", code); !strings.Contains(said, "expired code") {
			w.Errorf(`her code is good: %q; want it to contain "expired code"`, said)
		}
		for range 5 {
			time.Sleep(11 * time.Minute)
			if said := n.chatAs("eve", "Hello?"); said != "" {
				w.Errorf("she reads %q; want none", said)
			}
		}
		if asked := w.timesShown(asksForEve); asked != 1 {
			w.Errorf("the owner was asked %d times; want 1", asked)
		}
		time.Sleep(5 * time.Minute)
		if next := w.codeIn(n.chatAs("eve", "Hello?")); next == code {
			w.Error("the code has come back")
		}
		if asked := w.timesShown(asksForEve); asked != 2 {
			w.Errorf("the owner was asked %d times; want 2", asked)
		}
	})
}

// A code by other means and the question are the same wish: whichever comes second changes nothing.
func TestLetInByCodeWhileAsked(t *testing.T) {
	for option, want := range map[int]string{0: "eve (eve) can now talk to me.", 1: "eve (eve) already has access;"} {
		withAccessRequest(t, func(w *harness, n *process, code string, q chat.Question) {
			require.Value(n.Approve(w.Context(), code))(w)
			_, said := w.waitAnswer(n.deliver(chat.Choice(pressed(q, option).by("olga"))))
			if !strings.Contains(said, want) {
				w.Errorf("the owner reads %q; want it to contain %q", said, want)
			}
			if said := n.chatAs("eve", "And now?"); said != "You said: And now?" || w.timesShown(eveIsIn) != 1 {
				w.Errorf("she reads %q, %q", said, w.chat.visible())
			}
		})
	}
}

// A well-formed code that was never given out lets in none of those who wait, whichever way it arrives, and says so.
func TestWrongCodeLetsNobodyIn(t *testing.T) {
	withAccessRequest(t, func(w *harness, n *process, code string, _ chat.Question) {
		wrong := "AAAAAAAA"
		if code == wrong {
			wrong = "BBBBBBBB"
		}
		if p, err := n.Approve(w.Context(), wrong); !errors.Is(err, chat.ErrNotFound) {
			w.Errorf("the wrong code let in %+v, %v", p, err)
		}
		if p, err := intake.Approve(w.Context(), w.Store, w.cfg.Agent, wrong); !errors.Is(err, chat.ErrNotFound) {
			w.Errorf("without a runtime the wrong code let in %+v, %v", p, err)
		}
		if said := n.chatAs("olga", wrong); strings.Contains(said, "talk to me") {
			w.Errorf(`the owner, who sent the wrong code, reads %q; want it without "talk to me"`, said)
		}
		if said := n.chatAs("eve", "And now?"); strings.HasPrefix(said, "You said:") || w.timesShown(eveIsIn) != 0 {
			w.Errorf("the stranger is answered: %q, %q", said, w.chat.visible())
		}
	})
}

// The question ends with the code, and who owns the agent no more decides nothing.
func TestLetInEnds(t *testing.T) {
	withAccessRequest(t, func(w *harness, n *process, _ string, q chat.Question) {
		n.shutdown()
		w.cfg.Access.Owners = map[chat.EntityID]bool{"ada": true}
		w.cfg.Access.Allowed.Accounts["olga"] = true
		n = w.start()
		if _, said := w.waitAnswer(n.deliver(chat.Choice(pressed(q, 0).by("olga")))); !strings.Contains(said, "not yours") {
			w.Errorf(`who owned it reads %q; want it to contain "not yours"`, said)
		}
		if _, err := w.Store.Person(w.Context(), "eve"); !errors.Is(err, chat.ErrNotFound) {
			w.Errorf("she is in: %v", err)
		}
	})
	withAccessRequest(t, func(w *harness, n *process, _ string, q chat.Question) {
		time.Sleep(time.Hour)
		if acc := n.deliver(chat.Choice(pressed(q, 0).by("olga"))); acc.Refused != "This question has closed." {
			w.Errorf("an hour later: %+v", acc)
		}
		time.Sleep(time.Minute) // the buttons go
	})
}

// Who became the owner by the code is asked where they brought it, also after that was forgotten. Names are labels.
func TestClaimedOwnerIsAsked(t *testing.T) {
	withPairing(t, false, func(w *harness, n *process) {
		code := require.Value(n.OwnerCode(w.Context()))(w)
		n.chatAs("olga", code)
		n.deliver(chat.Cleared{Room: "fake/olga"})
		m := w.message("fake/eve", "eve", "Hello")
		m.Name = "Your owner [here](http://evil)\n**approves**"
		w.waitAnswer(n.send(m))
		q := w.openQuestion("fake/olga")
		time.Sleep(10 * time.Second)
		if w.timesShown("Your owner here http꞉//evil approves (eve) would like") != 1 {
			w.Errorf("the owner reads %q", w.chat.visible())
		}
		w.waitAnswer(n.deliver(chat.Choice(pressed(q, 0).by("olga"))))
		require.Value(w.Store.Person(w.Context(), "eve"))(w)
		w.accepted = nil // some of it was forgotten
		w.chat.forgetSeen()
	})
}

// A code brought where no runtime is: the next one tells the newcomer.
func TestLetInWhileNothingRuns(t *testing.T) {
	withPairing(t, true, func(w *harness, n *process) {
		code := w.codeIn(n.chatAs("eve", "Hello"))
		n.shutdown()
		_, err := intake.Approve(w.Context(), w.Store, w.cfg.Agent, "what")
		if !errors.Is(err, chat.ErrNotFound) {
			w.Errorf("a wrong code: %v", err)
		}
		_, err = intake.Approve(w.Context(), w.Store, w.cfg.Agent, code)
		w.Must(err)
		w.start()
		time.Sleep(10 * time.Second)
		if w.timesShown(eveIsIn) != 1 {
			w.Errorf("she reads %q", w.chat.visible())
		}
	})
}

// I14: the process dies before or behind any effect of the press. What was chosen is done, and she hears of it once.
func TestCrashWhileLettingIn(t *testing.T) {
	effects := 0
	play := func(option, k int, behind bool) {
		withAccessRequest(t, func(w *harness, n *process, _ string, q chat.Question) {
			n.shutdown()
			p := &gatewaytest.Faults{}
			first := w.startFaulty(p)
			killAt(p, k, behind, first)
			_, _ = first.ProcessMessage(w.Context(), chat.Choice(pressed(q, option).by("olga")))
			time.Sleep(time.Minute)
			if k == 0 {
				effects = len(p.Effects())
			}
			w.start().deliver(chat.Choice(pressed(q, option).by("olga")))
			time.Sleep(time.Minute)
			_, err := w.Store.Person(w.Context(), "eve")
			if in := err == nil; in != (option == 0) || w.timesShown(eveIsIn) != 1-option {
				w.Errorf("option %d, dying at effect %d of %q, behind it: %v: in is %v, visible %q", option, k, p.Effects(), behind, in, w.chat.visible())
			}
		})
	}
	for option := range 2 {
		play(option, 0, false)
		if effects < 3 {
			t.Fatalf("there were %d effects; want at least 3", effects)
		}
		for k := 1; k <= effects; k++ {
			play(option, k, false)
			play(option, k, true)
		}
	}
}

// Two replicas reach half of a card's time, at the same moment or one after the other, and one of them dies before or behind any effect: the card
// is sent once more, once.
func TestCardIsRemindedOnceByTwoReplicas(t *testing.T) {
	for _, later := range []time.Duration{0, 5 * time.Second} {
		effects := 0
		play := func(k int, behind bool) {
			withHarness(t, func(w *harness) {
				w.withShop()
				w.cfg.Approval = 8 * time.Minute
				w.cfg.Access.Owners, w.cfg.Access.Allowed.Accounts["olga"] = map[chat.EntityID]bool{"olga": true}, true
				n := w.start()
				w.waitAnswer(n.send(w.message("fake/olga", "olga", "Hi")))
				w.queueOrderOf("tea")
				w.waitParked(n.sendText("Order tea"))
				time.Sleep(210 * time.Second)
				n.shutdown()
				f := &gatewaytest.Faults{}
				first := w.startFaulty(f)
				killAt(f, k, behind, first)
				time.Sleep(later)
				w.start()
				time.Sleep(3 * time.Minute)
				if k == 0 {
					effects = len(f.Effects())
				}
				if got := strings.Count(strings.Join(w.chat.visible(), "\n"), "🔔"); got != 1 {
					w.Errorf("dying at effect %d of %q, behind it: %v: the approver reads %d reminders: %q", k, f.Effects(), behind, got, w.chat.visible())
				}
				w.model.queue([]step{write("No tea.")})
				time.Sleep(3 * time.Minute) // the card expires
				w.chat.forgetSeen()         // cards change after their ends
			})
		}
		play(0, false)
		for k := 1; k <= effects && !t.Failed(); k++ {
			play(k, false)
			play(k, true)
		}
		if later > 0 && effects < 2 {
			t.Errorf("the first replica made %d effects", effects)
		}
	}
}
