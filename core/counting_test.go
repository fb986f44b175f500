package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/core/schedule"
	"parley/internal/require"
	"parley/internal/subtest"
)

// SE-19: over the limit nothing is paid for: no file is read, no picture fetched, no model asked.
func TestNothingIsReadOverTheLimit(t *testing.T) {
	withReader(t, func(w *harness, r *fakeReader) {
		w.setLimits(quota.Limits{Person: quota.Cost{Messages: 1}}, w.Store)
		n := w.start()
		w.waitAnswer(n.send(with(w.message(room, "ada", "Look"), pic("a"))))
		if got := r.was(); got != "a" {
			t.Errorf(`within the limit it read %q; want "a"`, got)
		}
		for i := range 5 {
			m := with(w.message(room, "ada", "Look"), pic(fmt.Sprint("p", i)), voiceMessage(fmt.Sprint("s", i)))
			w.waitAnswer(n.send(m))
		}
		if got := r.was(); got != "" {
			t.Errorf("over the limit it read %q; want none", got)
		}
		w.wantModelCalls(1)
	})
}

// SE-19: the question whether to answer is counted before it is asked, whatever comes of it; over the limit it is not asked,
// nothing is listened to, and people who did not address the agent read nothing.
func TestAmbientDecisionsCount(t *testing.T) {
	withReader(t, func(w *harness, r *fakeReader) {
		w.setLimits(quota.Limits{Person: quota.Cost{Messages: 2}}, w.Store)
		w.cfg.Models.Transcriber = deaf{}
		w.cfg.Access.Group = access.GroupAmbient
		n := w.start()
		w.model.respond = func(llm.Request) []step { return []step{write("IGNORE")} }
		for i := range 5 {
			w.wantAnswer(n.send(with(w.message(group, "ada", "It rains."), voiceMessage(fmt.Sprint(i)))), answer.Ignored, "")
		}
		if asked, heard := len(w.model.requests()), r.was(); asked != 2 || heard != "0 1" {
			t.Errorf(`the model was asked %d times, and it listened to %q; want 2 and "0 1"`, asked, heard)
		}
		ask := w.message(group, "ada", "Are you there?")
		ask.Addressed = true
		if _, said := w.waitAnswer(n.send(ask)); !strings.HasPrefix(said, "You've reached your daily limit.") {
			t.Errorf(`who asks reads %q; want it to begin with "You've reached your daily limit."`, said)
		}
	})
}

// SE-19: a run is counted once, also where it starts again after a crash, and where it was first considered and then answered.
// An edited question is another one.
func TestRunsAreCountedOnce(t *testing.T) {
	t.Run("after a crash", subtest.Of(withHarness, func(w *harness) {
		w.setLimits(quota.Limits{Person: quota.Cost{Messages: 9}}, w.Store)
		n := w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)})
		acc := n.sendText("Hello")
		synctest.Wait()
		_ = n.Stop() // and nothing is left of its work within the grace
		w.start()
		w.waitAnswer(acc)
		if got := w.spent("person/ada").Messages; got != 1 {
			w.Errorf("%d messages are counted; want 1", got)
		}
		w.model.modelCalls()
	}))
	t.Run("considered, then answered", subtest.Of(withHarness, func(w *harness) {
		w.setLimits(quota.Limits{Person: quota.Cost{Messages: 9}}, w.Store)
		w.cfg.Access.Group = access.GroupAmbient
		n := w.start()
		w.model.queue([]step{write("RESPOND")}, []step{write("It does.")})
		w.wantAnswer(n.send(w.message(group, "ada", "Does it rain?")), answer.Completed, "It does.")
		if got := w.spent("person/ada").Messages; got != 1 {
			w.Errorf("%d messages are counted; want 1", got)
		}
	}))
	t.Run("edited", subtest.Of(withHarness, func(w *harness) {
		w.setLimits(quota.Limits{Person: quota.Cost{Messages: 9}}, w.Store)
		w.cfg.Turns.OnEdit = schedule.ReviseAnswer
		n := w.start()
		m := w.message(room, "ada", "Hello")
		acc := n.send(m)
		w.waitAnswer(acc)
		m.Text = "Good morning"
		require.Value(n.ProcessMessage(w.Context(), chat.Edited{Message: chat.Message{Memory: m.Memory}}))(w)
		time.Sleep(time.Minute)
		w.wantAnswer(acc, answer.Completed, "You said: Good morning")
		if got := w.spent("person/ada").Messages; got != 2 {
			w.Errorf("%d messages are counted; want 2", got)
		}
		w.chat.forgetSeen() // the answer changes after its end
	}))
}

// claiming is an action that answers "play" without a model, unless it is told to ask one.
type claiming struct {
	*fakeAction
}

func (claiming) Match(s action.TurnContext) (json.RawMessage, bool) {
	return json.RawMessage("{}"), s.Message.Text == "play"
}

// What no model is asked for costs nothing. As soon as one is, the message is counted first (SE-19).
func TestActionsThatAnswerAloneAreFree(t *testing.T) {
	for name, asks := range map[string]bool{"alone": false, "with a model": true} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.setLimits(quota.Limits{Person: quota.Cost{Messages: 1}}, w.Store)
			a := &fakeAction{name: "PLAY", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
				if asks {
					for _, err := range w.cfg.Models.Large.Generate(ctx, llm.Request{}) {
						if err != nil {
							return action.Result{}, err
						}
					}
				}
				c.Update("It plays.")
				return action.Result{Text: "it plays"}, nil
			}}
			w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "test", Actions: []action.Action{claiming{a}}})
			n := w.start()
			for range 3 {
				w.waitAnswer(n.sendText("play"))
			}
			want, asked := 0, 0
			if asks {
				want, asked = 1, 1
			}
			if got := w.spent("person/ada").Messages; got != want || len(w.model.requests()) != asked {
				w.Errorf("%d messages are counted, and the model was asked %d times; want %d and %d", got, len(w.model.requests()), want, asked)
			}
		}))
	}
}
