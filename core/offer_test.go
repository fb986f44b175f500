package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// withWaitingAction runs a test in which an action asks Ada which track to play, a second after she has asked for one.
func withWaitingAction(t *testing.T, effect action.Effect, then []step, play func(w *harness, n *process, a *asking, acc chat.Accepted)) {
	t.Helper()
	withHarness(t, func(w *harness) {
		w.cfg.Access.Allowed.Accounts["bob"] = true
		a := &asking{}
		w.addActions(&fakeAction{name: "PLAY", effect: effect, limit: time.Hour, do: a.act})
		w.model.queue([]step{write(fox), call(0, "a", "PLAY", "{}")}, then)
		n := w.start()
		acc := n.sendText("play")
		time.Sleep(time.Second)
		synctest.Wait()
		play(w, n, a, acc)
	})
}

// asking is what came of asking.
type asking struct {
	begun, over time.Time
	chosen      chat.Question
	err         error
}

func (a *asking) act(ctx context.Context, c *action.Call) (action.Result, error) {
	a.begun = time.Now()
	a.chosen, a.err = c.Choose(ctx, "Which one?", chat.Question{Options: []string{"Dunes", "Rain"}})
	if a.over = time.Now(); a.err != nil {
		return action.Result{}, a.err
	}
	time.Sleep(time.Second)
	c.Update("Now playing " + a.chosen.Options[a.chosen.Choice])
	return action.Result{Text: "it plays"}, nil
}

// currentChoices is what can be chosen in a run now, as a user sees who watches it.
func (n *process) currentChoices(acc chat.Accepted) *answer.Choices {
	n.h.Helper()
	ctx, cancel := context.WithCancel(n.h.Context())
	defer cancel()
	a := require.Value(n.Watch(ctx, acc.Run))(n.h)
	synctest.Wait()
	return a.View().Choices
}

// An action asks in the middle, waits, and goes on with what was chosen: by a button or in writing, here or on another replica.
// The choice is said until the action says more, and is no message of its own.
func TestChoose(t *testing.T) {
	for name, choose := range map[string]func(w *harness, n *process, q chat.Question) chat.Accepted{
		"a button": func(_ *harness, n *process, q chat.Question) chat.Accepted {
			return n.deliver(chat.Choice(pressed(q, 1)))
		},
		"its name": func(_ *harness, n *process, q chat.Question) chat.Accepted { return n.sendText("rain") },
		"a number": func(_ *harness, n *process, q chat.Question) chat.Accepted { return n.sendText("2.") },
		"elsewhere": func(w *harness, _ *process, q chat.Question) chat.Accepted {
			return w.start().deliver(chat.Choice(pressed(q, 1)))
		},
	} {
		for _, effect := range []action.Effect{action.Reads, action.Writes} {
			t.Run(name, func(t *testing.T) {
				withWaitingAction(t, effect, []step{write("Enjoy.")}, func(w *harness, n *process, a *asking, acc chat.Accepted) {
					q := w.question(acc)
					if o := n.currentChoices(acc); o == nil || o.ID != q.ID || !slices.Equal(o.Options, []string{"Dunes", "Rain"}) {
						w.Fatalf("offered is %+v", o)
					}
					for _, other := range []press{pressed(q, 0).by("bob"), pressed(q, 0).by("eve"), pressed(q, 7)} { // SE-07
						if acc := n.deliver(chat.Choice(other)); acc.Refused == "" {
							w.Errorf("%s chooses", other.Author)
						}
					}
					time.Sleep(time.Minute)
					from := time.Now()
					carrier := choose(w, n, q)
					time.Sleep(2500 * time.Millisecond)
					synctest.Wait()
					if took := a.over.Sub(from); a.err != nil || a.chosen.Choice != 1 || a.chosen.By != "ada" || took > 2*time.Second ||
						name != "elsewhere" && took > 0 {
						w.Errorf("chosen is %+v, %v, after %v", a.chosen, a.err, took)
					}
					w.wantAnswer(acc, answer.Completed, fox+"\n\nNow playing Rain\n\nEnjoy.")
					if o, _ := w.waitAnswer(carrier); o.Status != answer.Ignored {
						w.Errorf("what carries the choice ends as %v; want %v", o.Status, answer.Ignored)
					}
					w.wantVisible(fox + "\n\nNow playing Rain\n\nEnjoy.")
					if h := w.storedAnswer(acc).History; !slices.Equal(h, []string{"Which one?", "Which one?\n\n→ **Rain**", "Now playing Rain"}) {
						w.Errorf("the trail is %q", h)
					}
					if o := n.currentChoices(acc); o != nil {
						w.Errorf("at last there is %+v", o)
					}
				})
			})
		}
	}
}

// No user waits forever, and nothing can be chosen that no user waits for.
func TestChooseInVain(t *testing.T) {
	for name, c := range map[string]struct {
		during func(w *harness, n *process)
		after  time.Duration
		err    error
		status answer.Status
		text   string
	}{
		"no choice":  {nil, 5 * time.Minute, chat.ErrUnanswered, answer.Completed, fox + "\n\nWhich one?\n\nEnjoy."},
		"stopped":    {func(_ *harness, n *process) { n.stopAnswer(room) }, time.Minute, chat.ErrStopped, answer.Stopped, ""},
		"superseded": {func(_ *harness, n *process) { n.sendText("never mind") }, time.Minute, chat.ErrSuperseded, answer.Superseded, ""},
		"another's press": {func(w *harness, n *process) {
			for _, q := range w.openQuestions() {
				n.deliver(chat.Choice(pressed(q, 0).by("bob")))
			}
		}, 5 * time.Minute, chat.ErrUnanswered, answer.Completed, ""},
	} {
		for _, effect := range []action.Effect{action.Reads, action.Writes} {
			t.Run(name, func(t *testing.T) {
				withWaitingAction(t, effect, []step{write("Enjoy.")}, func(w *harness, n *process, a *asking, acc chat.Accepted) {
					q := w.question(acc)
					time.Sleep(time.Until(a.begun.Add(time.Minute)))
					if c.during != nil {
						c.during(w, n)
					}
					time.Sleep(10 * time.Minute)
					synctest.Wait()
					want := c.err
					if effect == action.Writes { // such an action is not cut off
						want = chat.ErrUnanswered
					}
					if took := a.over.Sub(a.begun); !errors.Is(a.err, want) || took < c.after || took > c.after+3*time.Second {
						w.Errorf("it came back after %v: %v", took, a.err)
					}
					if o, text := w.waitAnswer(acc); o.Status != c.status || c.text != "" && text != c.text {
						w.Errorf("the run is %v: %q", o.Status, text)
					}
					if o := n.currentChoices(acc); o != nil {
						w.Errorf("at last there is %+v", o)
					}
					if acc := n.deliver(chat.Choice(pressed(q, 0))); acc.Refused != "This question has closed." {
						w.Errorf("it can be chosen: %+v", acc)
					}
				})
			})
		}
	}
}

func (w *harness) openQuestions() []chat.Question {
	open := require.Value(w.Store.OpenQuestions(w.Context(), room))(w)
	return open
}

// A turn asks as often as it needs to.
func TestChooseTwice(t *testing.T) {
	withHarness(t, func(w *harness) {
		var chosen []string
		w.addActions(&fakeAction{name: "PLAY", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
			for _, options := range [][]string{{"Dunes", "Rain"}, {"Loud", "Soft"}} {
				q, err := c.Choose(ctx, "Which?", chat.Question{Options: options})
				if err != nil {
					return action.Result{}, err
				}
				chosen = append(chosen, q.Options[q.Choice])
			}
			return action.Result{Text: "ok"}, nil
		}})
		w.model.queue([]step{call(0, "a", "PLAY", "{}")}, []step{write("Enjoy.")})
		n := w.start()
		acc := n.sendText("play")
		for range 2 {
			time.Sleep(time.Second)
			n.deliver(chat.Choice(pressed(w.question(acc), 1)))
		}
		w.wantAnswer(acc, answer.Completed, "Which?\n\n→ **Soft**\n\nEnjoy.")
		synctest.Wait()
		if !slices.Equal(chosen, []string{"Rain", "Soft"}) {
			w.Errorf("chosen is %q", chosen)
		}
	})
}

// ST-18: who adopts the turn shows nothing before its end, so no user can choose, and is told at once.
func TestChooseAfterACrash(t *testing.T) {
	withWaitingAction(t, action.Reads, []step{write(fox), call(0, "b", "PLAY", "{}")}, func(w *harness, n *process, a *asking, acc chat.Accepted) {
		first := w.question(acc)
		w.model.queue([]step{write("Another time.")})
		_ = n.Stop()
		a.err = nil
		other := w.start()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if !errors.Is(a.err, chat.ErrUnseen) {
			w.Errorf("asking gave %v", a.err)
		}
		w.wantAnswer(acc, answer.Completed, fox+"\n\nWhich one?\n\nAnother time.")
		if acc := other.deliver(chat.Choice(pressed(first, 0))); acc.Refused != "This question has closed." {
			w.Errorf("what the first asked can be chosen: %+v", acc)
		}
	})
}

// What is asked without waiting can be chosen while the turn goes on: the options go at once, and what comes of it is said
// beside the answer, whose messages are its own.
func TestChosenWhileTheTurnGoesOn(t *testing.T) {
	withHarness(t, func(w *harness) {
		c := &chooser{says: "Skipped."}
		w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "choosers", ChoiceHandlers: []action.ChoiceHandler{c}})
		w.addActions(&fakeAction{name: "PLAY", do: func(ctx context.Context, call *action.Call) (action.Result, error) {
			call.Update("Now playing Dunes, at full length.")
			if err := call.Ask(ctx, chat.Question{Options: []string{"Skip", "Louder"}, Handler: "test"}); err != nil {
				return action.Result{}, err
			}
			time.Sleep(30 * time.Second)
			return action.Result{Text: "it was played"}, nil
		}})
		w.model.queue([]step{call(0, "a", "PLAY", "{}")}, []step{write("Enjoy.")})
		n := w.start()
		acc := n.sendText("play")
		time.Sleep(10 * time.Second)
		q := w.question(acc)
		if o := n.currentChoices(acc); o == nil || o.ID != q.ID {
			w.Fatalf("offered is %+v", o)
		}
		n.deliver(chat.Choice(pressed(q, 0)))
		time.Sleep(time.Second)
		synctest.Wait()
		if o := n.currentChoices(acc); o != nil || len(c.chosen) != 1 || c.chosen[0].Choice != 0 {
			w.Errorf("there is still %+v; chosen was %+v", o, c.chosen)
		}
		time.Sleep(time.Minute)
		w.wantAnswer(acc, answer.Completed, "Now playing Dunes, at full length.\n\nEnjoy.")
		if got := strings.Join(w.chat.visible(), " | "); got != "Now playing Dunes, at full length.\n\nEnjoy. | → **Skip**\n\nSkipped." {
			w.Errorf(`people see %q; want "Now playing Dunes, at full length.\n\nEnjoy. | → **Skip**\n\nSkipped."`, got)
		}
	})
}

// When the time of the action is over, so is its question, though the turn goes on.
func TestChooseTooSlowly(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.addActions(&fakeAction{name: "PLAY", limit: time.Minute, do: func(ctx context.Context, c *action.Call) (action.Result, error) {
			_, err := c.Choose(ctx, "Which one?", chat.Question{Options: []string{"Dunes", "Rain"}})
			return action.Result{}, err
		}})
		w.model.queue([]step{call(0, "a", "PLAY", "{}")}, []step{pause(30 * time.Second), write("Another time.")})
		n := w.start()
		acc := n.sendText("play")
		time.Sleep(time.Second)
		q := w.question(acc)
		time.Sleep(time.Minute)
		if o := n.currentChoices(acc); o != nil {
			w.Errorf("the action is over, and there is %+v", o)
		}
		if acc := n.deliver(chat.Choice(pressed(q, 0))); acc.Refused != "This question has closed." {
			w.Errorf("it can be chosen: %+v", acc)
		}
		w.wantAnswer(acc, answer.Completed, "Which one?\n\nAnother time.")
	})
}

// Where nothing is shown before the end, or nothing more since a user has removed the answer, no user waits for a choice.
func TestChooseUnseen(t *testing.T) {
	for name, hides := range map[string]bool{"from the first": true, "later": false} {
		withHarness(t, func(w *harness) {
			var p *poster
			w.cfg.Open = func(_ context.Context, r chat.Run) (core.Surface, error) {
				p = &poster{chat: w.chat, run: r, silent: true, hides: hides}
				return p, nil
			}
			a := &asking{}
			w.addActions(&fakeAction{name: "PLAY", do: a.act})
			w.model.queue([]step{call(0, "a", "PLAY", "{}")}, []step{pause(time.Second), write("Another time.")})
			n := w.start()
			acc := n.sendText("play")
			time.Sleep(10 * time.Second)
			if !hides {
				watched := require.Value(n.Watch(w.Context(), acc.Run))(w)
				watched.Seen(^answer.Cursor(0))
			}
			w.wantAnswer(acc, answer.Completed, "Which one?\n\nAnother time.")
			synctest.Wait()
			if !errors.Is(a.err, chat.ErrUnseen) || a.over.Sub(a.begun) > 10*time.Second || len(w.openQuestions()) != 0 {
				w.Errorf("%s: asking gave %v after %v", name, a.err, a.over.Sub(a.begun))
			}
		})
	}
}
