package core_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/internal/subtest"
)

// says is what Ada says in her room, and which answer she gets.
func (n *process) wantReply(text, want string) {
	n.h.Helper()
	n.h.model.queue([]step{write(want)})
	n.h.wantAnswer(n.sendText(text), answer.Completed, want)
}

// queueOrderOf has the model call ORDER for item.
func (w *harness) queueOrderOf(item string) {
	w.model.queue([]step{call(0, "o", "ORDER", `{"item":"`+item+`"}`)})
}

// Later messages in a direct chat are answered beside a call that waits for its approval, on whatever replica and after restarts. Then the
// call is made, once, though another message follows at once.
func TestLaterMessagesLeaveAnApprovalWaiting(t *testing.T) {
	for name, again := range map[string]func(w *harness, n *process) *process{
		"the same process": func(_ *harness, n *process) *process { return n },
		"another replica":  func(w *harness, _ *process) *process { return w.start() },
		"after a restart": func(w *harness, n *process) *process {
			n.shutdown()
			return w.start()
		},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			shop, n := w.withShop(), w.start()
			w.queueOrderOf("tea")
			acc := n.sendText("Order tea")
			q := w.waitParked(acc)
			if shown := strings.Join(w.chat.visible(), "\n"); !strings.Contains(shown, "⏳ Waiting for an approval") {
				w.Errorf(`people see %q; want it to contain "⏳ Waiting for an approval"`, shown)
			}
			n.wantReply("Hello?", "I am waiting.")
			n = again(w, n)
			n.wantReply("Still there?", "Yes.")
			if r := w.run(acc); !r.Parked || shop.times() > 0 {
				w.Fatalf("it does not wait: %+v", r)
			}
			w.model.queue([]step{pause(time.Minute), write("Ordered.")}, []step{write("Fine.")})
			n.deliver(chat.Choice(pressed(q, 0)))
			time.Sleep(10 * time.Second)
			last := n.sendText("And?")
			if o, said := w.waitAnswer(acc); o.Status != answer.Completed || !strings.HasSuffix(said, "Ordered.") || shop.times() != 1 {
				w.Errorf("it ended as %+v with %q, made %d times", o, said, shop.times())
			}
			w.wantAnswer(last, answer.Completed, "Fine.")
		}))
	}
}

// A model that is asked beside a call that waits reads so, in every form of answers, and a model that is asked later does not.
func TestModelReadsThatACallWaits(t *testing.T) {
	for _, mode := range []generate.Config{{}, {Mode: generate.XML}} {
		t.Run(string(mode.Mode), func(t *testing.T) {
			withHarness(t, func(w *harness) {
				w.cfg.Generation = mode
				says := func(text string) []step {
					if mode.Mode == generate.XML {
						text = "<response><text>" + text + "</text></response>"
					}
					return []step{write(text)}
				}
				first := []step{call(0, "o", "ORDER", `{"item":"tea"}`)}
				if mode.Mode == generate.XML {
					first = []step{write(`<response><thought>t</thought><actions><action><name>ORDER</name><params>{"item":"tea"}</params></action></actions><text></text></response>`)}
				}
				w.withShop()
				n := w.start()
				w.model.queue(first, says("I wait."), says("Ordered."), says("Yes."))
				acc := n.sendText("Order tea")
				q := w.waitParked(acc)
				w.wantAnswer(n.sendText("Hello?"), answer.Completed, "I wait.")
				n.deliver(chat.Choice(pressed(q, 0)))
				w.waitAnswer(acc)
				w.wantAnswer(n.sendText("Done?"), answer.Completed, "Yes.")
				for i, want := range []int{0, 1, 0, 0} {
					if got := strings.Count(strings.Join(w.model.requests()[i].texts(), "\n"), "A call of ORDER waits for an approval"); got != want {
						t.Errorf("request %d says %d times that a call waits, want %d: %q", i, got, want, w.model.requests()[i].texts())
					}
				}
			})
		})
	}
}

// A later call of the same tool by the same user replaces the request, unless an approver keeps both.
func TestLaterCallReplacesARequest(t *testing.T) {
	for name, c := range map[string]struct {
		option int
		first  answer.Status // of the first run, "" if it waits on
		want   []chat.Decision
	}{
		"Once":            {0, answer.Superseded, []chat.Decision{chat.Replaced, chat.Used}},
		"Once, keep both": {1, "", []chat.Decision{chat.Lapsed, chat.Pending, chat.Used}},
		"Always here":     {2, answer.Superseded, []chat.Decision{chat.Replaced, chat.Always}},
		"Deny":            {3, answer.Superseded, []chat.Decision{chat.Replaced, chat.Denied}},
		"stop":            {-1, answer.Stopped, []chat.Decision{chat.Stopped, chat.Stopped}},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			shop, n := w.withShop(), w.start()
			w.queueOrderOf("tea")
			first := n.sendText("Order tea")
			tea := w.waitParked(first)
			time.Sleep(time.Second)
			w.queueOrderOf("milk")
			second := n.sendText("No, milk")
			milk := w.waitParked(second)
			if !slices.Equal(milk.Options, []string{"Once", "Once, keep both", "Always here", "Deny"}) || !w.run(first).Parked {
				w.Fatalf("the second asks %q, and the first run is %+v", milk.Options, w.run(first))
			}
			w.model.queue([]step{write("Well.")})
			if got := n.currentChoices(first); got != nil {
				w.Errorf("the request that was replaced still offers %q", got.Options)
			}
			if got := n.deliver(chat.Choice(pressed(tea, 0))); got.Refused == "" {
				w.Error("a press on the replaced request was accepted; want it refused")
			}
			if shown := strings.Join(w.chat.visible(), "\n"); !strings.Contains(shown, "⏳ A later request has replaced this one.") {
				w.Errorf(`people see %q; want it to contain "⏳ A later request has replaced this one."`, shown)
			}
			if c.option < 0 {
				n.stopAnswer(room)
			} else {
				n.deliver(chat.Choice(pressed(milk, c.option)))
			}
			w.waitAnswer(second)
			time.Sleep(time.Minute)
			if shown := strings.Join(w.chat.visible(), "\n"); c.first == answer.Superseded && strings.Count(shown, "(A later request has replaced this one.)") != 1 {
				w.Errorf("at the end, people see %q; want it to tell why the first call is not made", shown)
			}
			if got := w.run(first).Outcome.Status; got != c.first || !slices.Equal(w.decisions(room), c.want) {
				w.Errorf("the first run is %q; decided is %q, want %q", got, w.decisions(room), c.want)
			}
			if c.first == "" {
				w.model.queue([]step{write("Tea, too.")})
				n.deliver(chat.Choice(pressed(w.waitParked(first), 0)))
				if o, _ := w.waitAnswer(first); o.Status != answer.Completed || shop.times() != 2 {
					w.Errorf("it ends as %+v, and %d calls were made", o, shop.times())
				}
			} else if got := n.deliver(chat.Choice(pressed(tea, 0))); got.Refused == "" {
				w.Error("a press on the first request was accepted; want it refused")
			}
		}))
	}
}

// The cards in the owners' chats lose their buttons when the request can't be decided there any more, and one that waits again has them again.
func TestCardsOfOverRequestsHaveNoButtons(t *testing.T) {
	for name, over := range map[string]func(w *harness, n *process, acc chat.Accepted, q chat.Question){
		"another owner decides": func(w *harness, n *process, _ chat.Accepted, q chat.Question) {
			w.model.queue([]step{write("It is yours.")})
			n.deliver(chat.Choice(pressed(q, 0)))
		},
		"stop": func(_ *harness, n *process, _ chat.Accepted, _ chat.Question) { n.stopAnswer("fake/bob") },
		"cleared": func(_ *harness, n *process, _ chat.Accepted, _ chat.Question) {
			n.deliver(chat.Cleared{Room: "fake/bob"})
		},
		"the time": func(w *harness, _ *process, _ chat.Accepted, _ chat.Question) {
			w.model.queue([]step{write("Too late.")})
			time.Sleep(time.Hour)
		},
		"a later request": func(w *harness, n *process, _ chat.Accepted, _ chat.Question) {
			w.queueOrderOf("silver")
			w.waitParked(n.send(w.message("fake/bob", "bob", "Silver")))
		},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.withShop()
			w.cfg.Access.Owners["olga"], w.cfg.Access.Allowed.Accounts["olga"] = true, true
			n := w.start()
			n.wantReply("Hi", "Hello.") // so that the owners can be reached
			w.model.queue([]step{write("Hello.")})
			w.waitAnswer(n.send(w.message("fake/olga", "olga", "Hi")))
			w.queueOrderOf("gold")
			acc := n.send(w.message("fake/bob", "bob", "Gold"))
			w.waitParked(acc)
			time.Sleep(time.Second) // until both notices have ended
			cards := w.openQuestionsByRoom()
			if len(cards) != 2 {
				w.Fatalf("asked is %+v; want 2", cards)
			}
			over(w, n, acc, cards[room])
			time.Sleep(time.Minute)
			for in, q := range cards {
				// Bob's next message is added to the card: while that is shown, its run ends without the buttons by itself.
				now, err := w.Store.Question(w.Context(), q.ID)
				asker, failed := w.Store.Run(w.Context(), q.Run)
				if err == nil && now.ResultRun == "" && (failed != nil || asker.Outcome.Offer != nil || now.Open(time.Now())) {
					w.Errorf("the card in %s has its buttons: %+v, of %+v", in, now, asker)
				}
			}
			if name == "a later request" {
				silver := w.openQuestionsByRoom()[room]
				w.model.queue([]step{write("Well.")})
				n.deliver(chat.Choice(pressed(silver, 1))) // keep both
				time.Sleep(time.Minute)
				gold := w.openQuestionsByRoom()
				if len(gold) != 2 || !strings.HasPrefix(gold[room].Payload, cards[room].Payload) {
					w.Fatalf("what waits again is asked as %+v", gold)
				}
				w.model.queue([]step{write("A pity.")})
				n.deliver(chat.Choice{Question: gold[room].ID, Words: "Deny: gold is too dear", Room: room, Author: "ada"})
				w.waitAnswer(acc)
				asked := w.model.requests()
				if got := strings.Join(asked[len(asked)-1].texts(), "\n"); !strings.Contains(got, `The reason, in the words of the approver: "gold is too dear"`) {
					w.Errorf("the model reads %q; want it to contain the reason", got)
				}
			}
			w.accepted = nil
			w.chat.forgetSeen()
		}))
	}
}

// openQuestionsByRoom are the open questions of the owners, by room.
func (w *harness) openQuestionsByRoom() map[chat.RoomID]chat.Question {
	w.Helper()
	all := map[chat.RoomID]chat.Question{}
	for _, in := range []chat.RoomID{room, "fake/olga"} {
		open := require.Value(w.Store.OpenQuestions(w.Context(), in))(w)
		for _, q := range open {
			all[in] = q
		}
	}
	return all
}

// At most three calls wait in a room, of whatever users. The model is told of a fourth that it was not made.
func TestThreeCallsWaitInARoom(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.withShop()
		for _, name := range []string{"ONE", "TWO", "THREE", "FOUR"} {
			g := &approvedAction{&fakeAction{name: name, effect: action.Writes}, "kind " + name}
			w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: name, Actions: []action.Action{g}})
		}
		n := w.start()
		for _, name := range []string{"ONE", "TWO", "THREE"} {
			w.model.queue([]step{call(0, "o", name, "{}")})
			w.waitParked(n.sendText(name))
		}
		w.model.queue([]step{call(0, "o", "FOUR", "{}")}, []step{write("Too many wait.")})
		w.waitAnswer(n.sendText("FOUR"))
		asked := w.model.requests()
		if told := asked[len(asked)-1].Messages; !slices.ContainsFunc(told, func(m llm.Message) bool { return strings.Contains(m.Text, "Three calls wait") }) {
			t.Errorf("the model was told %+v", told[len(told)-1])
		}
		n.stopAnswer(room)
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}

// The card in the owner's chat shows what the asker wrote since: in its message, or below it once the owner has written there.
func TestCardShowsWhatTheAskerWroteSince(t *testing.T) {
	withHarness(t, func(w *harness) {
		shop, n := w.withShop(), w.start()
		n.wantReply("Hi", "Hello.") // so that the owner can be reached
		w.queueOrderOf("gold")
		acc := n.send(w.message("fake/bob", "bob", "Order gold"))
		w.waitParked(acc)
		card := func() chat.Question {
			for _, q := range w.openQuestions() {
				return q
			}
			w.Fatalf("no one is asked\nlog:\n%s", w.Logged)
			return chat.Question{}
		}
		says := func(text string) {
			w.model.queue([]step{write("Please wait.")})
			w.wantAnswer(n.send(w.message("fake/bob", "bob", text)), answer.Completed, "Please wait.")
			time.Sleep(10 * time.Second)
		}
		q := card()
		says("Hello?")
		if !slices.ContainsFunc(w.chat.visible(), func(text string) bool {
			return strings.Contains(text, "🔐 **ORDER** (shop, write)") && strings.HasSuffix(text, "\n✎ bob wrote since: Hello?")
		}) {
			t.Errorf("people see %q", w.chat.visible())
		}
		n.wantReply("What is that?", "A question of Bob's.")
		says("I need it")
		shown := strings.Join(w.chat.visible(), "\n\n")
		if strings.Count(shown, "✎ bob wrote since: Hello?") != 1 || strings.Count(shown, "✎ bob wrote since: I need it") != 1 {
			t.Errorf("people see %q", shown)
		}
		if now := card(); now.ID != q.ID {
			t.Errorf("another question is asked: %+v", now)
		}
		w.model.queue([]step{write("It is yours.")})
		n.deliver(chat.Choice(pressed(q, 0)))
		if o, _ := w.waitAnswer(acc); o.Status != answer.Completed || shop.times() != 1 {
			t.Errorf("it ends as %+v, made %d times", o, shop.times())
		}
		w.chat.forgetSeen()
	})
}

// A run that resumes adds nothing to the cards of later messages: theirs was written after. A message that has joined it is later.
func TestCardShowsNoEarlierMessages(t *testing.T) {
	withHarness(t, func(w *harness) {
		for _, name := range []string{"ONE", "TWO", "THREE"} {
			g := &approvedAction{&fakeAction{name: name, effect: action.Writes}, "kind " + name}
			w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: name, Actions: []action.Action{g}})
		}
		w.withShop()
		w.addActions(&fakeAction{name: "LOOK", effect: action.Reads})
		w.cfg.Turns.Direct = schedule.Steer
		n := w.start()
		n.wantReply("Hi", "Hello.") // so that the owner can be reached
		ask := func(name string) chat.Accepted {
			w.model.queue([]step{call(0, "o", name, "{}")})
			acc := n.send(w.message("fake/bob", "bob", name+", please"))
			w.waitParked(acc)
			time.Sleep(10 * time.Second)
			return acc
		}
		one, two := ask("ONE"), ask("TWO")
		ask("THREE")
		cards := w.openQuestions()
		for _, acc := range []chat.Accepted{one, two} {
			w.model.queue([]step{pause(20 * time.Second), call(0, "l", "LOOK", "{}")}, []step{write("Well.")})
			for _, q := range cards {
				if r, err := w.Store.Approval(w.Context(), q.Payload); err == nil && r.Run == acc.Run {
					n.deliver(chat.Choice(pressed(q, 0)))
				}
			}
			if acc == two {
				time.Sleep(10 * time.Second)
				n.send(w.message("fake/bob", "bob", "Hurry!"))
			}
			w.waitAnswer(acc)
			time.Sleep(10 * time.Second)
		}
		shown := strings.Join(w.chat.visible(), "\n\n")
		for _, line := range []string{"TWO, please", "THREE, please", "Hurry!"} { // the last two below a card
			if strings.Count(shown, "✎ bob wrote since: "+line) != 1 {
				t.Errorf("people don't see %q once", line)
			}
		}
		if strings.Count(shown, "wrote since:") != 3 {
			t.Errorf("people see %q", shown)
		}
		time.Sleep(time.Hour)
		w.chat.forgetSeen() // the marks are not stored
	})
}

// The card names an asker without a name, such as a visitor of a page, in the approver's language.
func TestCardNamesAVisitor(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.withShop()
		n := w.start()
		n.wantReply("Hi", "Hello.") // so that the owner can be reached
		nameless := func(text string) chat.Message {
			m := w.message("fake/bob", "bob", text)
			m.Memory.Name = ""
			return m
		}
		w.queueOrderOf("gold")
		acc := n.send(nameless("Order gold"))
		w.waitParked(acc)
		w.model.queue([]step{write("Please wait.")})
		w.wantAnswer(n.send(nameless("Hello?")), answer.Completed, "Please wait.")
		time.Sleep(10 * time.Second)
		shown := strings.Join(w.chat.visible(), "\n")
		for _, want := range []string{"A visitor asks for this in a direct chat", "✎ A visitor wrote since: Hello?"} {
			if !strings.Contains(shown, want) {
				t.Errorf("people see %q; want %q", shown, want)
			}
		}
		n.stopAnswer("fake/bob")
		time.Sleep(time.Minute)
		w.chat.forgetSeen()
	})
}

// The process dies in the middle of an answer while an older call of the room has just been approved: both are finished, under every policy.
func TestApprovedWhileAnotherAnswerIsInterrupted(t *testing.T) {
	for _, policy := range []schedule.Policy{schedule.Supersede, schedule.Queue, schedule.Steer} {
		withHarness(t, func(w *harness) {
			w.cfg.Turns.Direct = policy
			shop, f := w.withShop(), &gatewaytest.Faults{}
			n := w.startFaulty(f)
			w.queueOrderOf("tea")
			tea := n.sendText("Order tea")
			q := w.waitParked(tea)
			w.model.queue([]step{pause(time.Hour)}, []step{write("It is sunny.")}, []step{write("Ordered.")})
			weather := n.sendText("How is the weather?")
			time.Sleep(10 * time.Second)
			n.deliver(chat.Choice(pressed(q, 0)))
			time.Sleep(10 * time.Second)
			f.Kill()
			n.Interrupt()
			w.start()
			w.wantAnswer(weather, answer.Completed, "It is sunny.")
			if o, said := w.waitAnswer(tea); o.Status != answer.Completed || !strings.HasSuffix(said, "Ordered.") || shop.times() != 1 {
				t.Errorf("%s: it ended as %+v with %q, made %d times", policy, o, said, shop.times())
			}
		})
	}
}
