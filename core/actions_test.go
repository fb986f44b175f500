package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
)

// fakeAction does what a test says, and counts.
type fakeAction struct {
	name    string
	similes []string
	schema  string // of its parameters
	compact func(map[string]any) string
	quiet   bool
	effect  action.Effect
	limit   time.Duration
	do      func(ctx context.Context, c *action.Call) (action.Result, error)

	mu    sync.Mutex
	began int
}

func (a *fakeAction) Spec() action.Spec {
	schema := a.schema
	if schema == "" {
		schema = `{"type":"object"}`
	}
	return action.Spec{
		Name: a.name, Similes: a.similes, Description: "does it", Parameters: json.RawMessage(schema), Effect: a.effects(), Quiet: a.quiet, Limit: a.limit, Compact: a.compact,
	}
}

// effects is what it declares: that it reads, unless a test says otherwise.
func (a *fakeAction) effects() action.Effect {
	if a.effect == 0 {
		return action.Reads
	}
	return a.effect
}

func (a *fakeAction) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	a.mu.Lock()
	a.began++
	a.mu.Unlock()
	if a.do == nil {
		return action.Result{Text: "done " + string(c.Parameters), Short: "done"}, nil
	}
	return a.do(ctx, c)
}

func (a *fakeAction) times() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.began
}

func takes(d time.Duration) func(context.Context, *action.Call) (action.Result, error) {
	return func(ctx context.Context, _ *action.Call) (action.Result, error) {
		select {
		case <-time.After(d):
			return action.Result{Text: "done after a while"}, nil
		case <-ctx.Done():
			return action.Result{}, context.Cause(ctx)
		}
	}
}

func (w *harness) addActions(actions ...*fakeAction) {
	p := action.Plugin{Name: "test"}
	for _, a := range actions {
		p.Actions = append(p.Actions, a)
	}
	w.cfg.Plugins = append(w.cfg.Plugins, p)
}

// wantStages counts how often each call came to a stage, and wants one start and one end of each, the end last.
func wantStages(w *harness, cs []answer.Change) (ends map[string]answer.Tool) {
	w.Helper()
	ends = map[string]answer.Tool{}
	starts := map[string]int{}
	for _, c := range cs {
		if c.Kind != answer.ToolStage {
			continue
		}
		if _, over := ends[c.Call]; over {
			w.Errorf("call %s goes on after its end: %+v", c.Call, *c.Tool)
		}
		switch c.Tool.Stage {
		case answer.StageStart:
			starts[c.Call]++
		case answer.StageEnd:
			ends[c.Call] = *c.Tool
		}
	}
	for id, n := range starts {
		if _, over := ends[id]; n != 1 || !over {
			w.Errorf("call %s began %d times, ended: %v", id, n, over)
		}
	}
	return ends
}

func TestAction(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		a := &fakeAction{name: "PLAY", do: func(_ context.Context, c *action.Call) (action.Result, error) {
			c.Update("loading")
			time.Sleep(time.Second)
			c.Update("playing")
			return action.Result{Text: "it plays", Short: "plays"}, nil
		}}
		w.addActions(a)
		w.model.queue([]step{write("I play it."), call(0, "c1", "PLAY", `{"ti`), call(0, "", "", `tle":"x"}`)}, []step{write("Enjoy.")})
		n := w.start()
		acc := n.sendText("play")
		cs, v, err := n.readAnswer(acc.Run)
		w.Must(err)
		if got := v.Text(); got != "I play it.\n\nplaying\n\nEnjoy." {
			w.Errorf(`it says %q; want "I play it.\n\nplaying\n\nEnjoy."`, got)
		}
		want := answer.Tool{Name: "PLAY", Stage: answer.StageEnd, Parameters: `{"title":"x"}`, CompactParams: "x", Result: "it plays", ShortResult: "plays", Success: true, Duration: time.Second}
		if diff := cmp.Diff(want, wantStages(w, cs)["c1"]); diff != "" {
			w.Errorf("the end (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"loading", "playing"}, v.History); diff != "" {
			w.Errorf("the trail (-want +got):\n%s", diff)
		}
		turns := w.model.requests()[1].Messages
		result := turns[len(turns)-1]
		if result.Role != llm.RoleTool || result.Call != "c1" || result.Text != "it plays" {
			w.Errorf("the model was told %+v", result)
		}
		m := require.Value(w.Store.Memory(w.Context(), w.run(acc).Said()))(w)
		if m.Text != v.Text() || len(m.History) != 2 || m.InReplyTo != acc.Memory {
			w.Errorf("stored is %+v", m)
		}
	})
}

// What an action shows is on its way before its next line runs.
func TestUpdateIsSeenAtOnce(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		var a *answer.Answer
		w.addActions(&fakeAction{name: "PLAY", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
			before := a.View().At
			c.Update("loading")
			if a.Wait(ctx, before) != nil || !strings.HasSuffix(a.View().Text(), "loading") {
				w.Errorf("the reader sees %q", a.View().Text())
			}
			return action.Result{}, nil
		}})
		w.model.queue([]step{pause(time.Second), call(0, "c1", "PLAY", "")}, []step{write("Enjoy.")})
		n := w.start()
		acc := n.sendText("play")
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		var err error
		a, err = n.Watch(ctx, acc.Run)
		w.Must(err)
		w.wantAnswer(acc, answer.Completed, "loading\n\nEnjoy.")
	})
}

// However a call goes wrong, it ends once, the model is told, and the run goes on (LM-04, LM-05).
func TestActionGoesWrong(t *testing.T) {
	type script []step
	for name, c := range map[string]struct {
		do     func(context.Context, *action.Call) (action.Result, error)
		asks   script
		told   string // to the model
		people string // in the stage
	}{
		"unknown":             {nil, script{call(0, "c", "NOPE", "{}")}, `Error: There is no action "NOPE".`, "The call was not valid."},
		"no name":             {nil, script{call(0, "c", "", "{}")}, `Error: There is no action "".`, "The call was not valid."},
		"half the parameters": {nil, script{call(0, "c", "DO", `{"a":"b`)}, "Error: The parameters are not a complete JSON object.", "The call was not valid."},
		"an array":            {nil, script{call(0, "c", "DO", `[]`)}, "Error: The parameters are not a complete JSON object.", "The call was not valid."},
		"null":                {nil, script{call(0, "c", "DO", `null`)}, "Error: The parameters are not a complete JSON object.", "The call was not valid."},
		"two objects":         {nil, script{call(0, "c", "DO", `{}{}`)}, "Error: The parameters are not a complete JSON object.", "The call was not valid."},
		"an error": {func(context.Context, *action.Call) (action.Result, error) {
			return action.Result{}, errors.New("no such file")
		},
			script{call(0, "c", "DO", "{}")}, "Error: no such file", "It failed."},
		"an error for people": {func(context.Context, *action.Call) (action.Result, error) {
			return action.Result{}, fmt.Errorf("look it up: %w", &action.PublicError{Text: "There is no\nsuch order."})
		},
			script{call(0, "c", "DO", "{}")}, "Error: look it up: There is no\nsuch order.", "There is no such order."},
		"a long error for people": {func(context.Context, *action.Call) (action.Result, error) {
			return action.Result{}, &action.PublicError{Text: strings.Repeat("long ", 1000)}
		},
			script{call(0, "c", "DO", "{}")}, "Error: " + strings.Repeat("long ", 1000), strings.Repeat("long ", 60) + "…"},
		"a text for the model": {func(context.Context, *action.Call) (action.Result, error) {
			return action.Result{}, &action.PublicError{Text: "no row 7", Detail: true}
		},
			script{call(0, "c", "DO", "{}")}, "Error: no row 7", "no row 7"},
		"a panic": {func(context.Context, *action.Call) (action.Result, error) { panic("secret stack") },
			script{call(0, "c", "DO", "{}")}, "Error: the action panicked", "It failed."},
		"too slow": {takes(time.Hour), script{call(0, "c", "DO", "{}")}, "Error: the action took too long", "It failed."},
	} {
		for _, effect := range []action.Effect{action.Reads, action.Writes} {
			t.Run(name, subtest.Of(withHarness, func(w *harness) {
				w.watchOnly()
				w.addActions(&fakeAction{name: "DO", effect: effect, do: c.do})
				w.model.queue(append(script{pause(time.Second)}, c.asks...), script{write("Well.")}) // once it is watched
				n := w.start()
				acc := n.sendText("do it")
				cs, v, err := n.readAnswer(acc.Run)
				w.Must(err)
				if end := wantStages(w, cs)["c"]; end.Success || end.Error != c.people || end.Detail != (name == "a text for the model") {
					w.Errorf("people see %+v", end)
				}
				turns := w.model.requests()[1].Messages
				if got := turns[len(turns)-1].Text; got != c.told {
					w.Errorf("the model was told %q; want %q", got, c.told)
				}
				if v.Outcome.Status != answer.Completed || v.Outcome.Rounds != 2 || v.Text() != "Well." {
					w.Errorf(`it ended as %+v, %q; want %+v and "Well."`, v.Outcome, v.Text(), done)
				}
			}))
		}
	}
}

func sendSecond(n *process) error {
	_, err := n.ProcessMessage(n.h.Context(), n.h.message(room, "ada", "B"))
	return err
}

// Every call that a reader saw begin ends, once, also where the run ends first.
func TestCallsEndWithTheirRun(t *testing.T) {
	for name, c := range map[string]struct {
		script []step
		ends   func(w *harness, n *process) // 5 s later
		want   answer.Status
	}{
		"stopped in the first of three": {
			[]step{call(0, "a", "DO", "{}"), call(1, "b", "DO", "{}"), call(2, "c", "WRITE", "{}")}, func(_ *harness, n *process) { n.stopAnswer(room) }, answer.Stopped,
		},
		"superseded in the first of three": {
			[]step{call(0, "a", "DO", "{}"), call(1, "b", "DO", "{}"), call(2, "c", "NOPE", "{}")}, func(w *harness, n *process) { w.Must(sendSecond(n)) }, answer.Superseded,
		},
		"stopped while a writing one runs": {
			[]step{call(0, "a", "WRITE", "{}"), call(1, "b", "WRITE", "{}"), call(2, "c", "DO", "{}")}, func(_ *harness, n *process) { n.stopAnswer(room) }, answer.Stopped,
		},
		"stopped in mid-parameters": {
			[]step{call(0, "a", "DO", `{"x":`), call(1, "b", "DO", "{"), pause(time.Hour)}, func(_ *harness, n *process) { n.stopAnswer(room) }, answer.Stopped,
		},
		"stalled in mid-parameters": {[]step{call(0, "a", "DO", `{"x":`), pause(time.Hour)}, nil, answer.Failed},
		"broken in mid-parameters":  {[]step{call(0, "a", "DO", `{"x":`), fails(&llm.Failure{Kind: llm.ProviderIssue, Retry: true, Err: errors.New("cut")})}, nil, answer.Failed},
		"panic in mid-parameters":   {[]step{call(0, "a", "DO", `{"x":`), panics()}, nil, answer.Failed},
		"out of time": {
			[]step{call(0, "a", "WRITE", "{}"), call(1, "b", "WRITE", "{}")}, func(w *harness, _ *process) {}, answer.TimedOut,
		},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.watchOnly()
			if c.want == answer.TimedOut {
				w.cfg.Turns.Limit = 10 * time.Second
			}
			reads, writes := &fakeAction{name: "DO", do: takes(20 * time.Second)}, &fakeAction{name: "WRITE", effect: action.Writes, do: takes(20 * time.Second)}
			w.addActions(reads, writes)
			w.model.queue(c.script)
			n := w.start()
			acc := n.sendText("do it")
			if c.ends != nil {
				time.AfterFunc(5*time.Second, func() { c.ends(w, n) })
			}
			cs, v, err := n.readAnswer(acc.Run)
			w.Must(err)
			wantStages(w, cs)
			if v.Outcome.Status != c.want {
				w.Errorf("it ended as %+v", v.Outcome)
			}
			time.Sleep(time.Second)
			if reads.times() > 1 || writes.times() > 1 {
				w.Errorf("after the end of the turn, actions began: %d reading, %d writing; want at most 1 and at most 1", reads.times(), writes.times())
			}
		}))
	}
}

// LM-08
func TestHugeResult(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.addActions(&fakeAction{name: "DO", do: func(context.Context, *action.Call) (action.Result, error) {
			return action.Result{Text: strings.Repeat("x", 700<<10)}, nil
		}})
		w.model.queue([]step{call(0, "a", "DO", "{}")}, []step{write("Well.")})
		n := w.start()
		w.wantAnswer(n.sendText("do it"), answer.Completed, "Well.")
		turns := w.model.requests()[1].Messages
		if n := len(turns[len(turns)-1].Text); n > 65<<10 {
			w.Errorf("the model was given %d bytes", n)
		}
	})
}

// A model that asks for actions without end is ended, and people are told.
func TestEndlessCalls(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		a := &fakeAction{name: "DO"}
		w.addActions(a)
		for range 10 {
			w.model.queue([]step{call(0, "a", "DO", "{}")})
		}
		n := w.start()
		cs, v, err := n.readAnswer(n.sendText("do it").Run)
		w.Must(err)
		wantStages(w, cs)
		asked := w.model.requests()
		if len(asked) != 6 || len(asked[4].Tools) != 1 || asked[5].Tools != nil || a.times() != 5 {
			w.Errorf("the model was asked %d times, and %d actions were done", len(asked), a.times())
		}
		if v.Outcome.Status != answer.Failed || v.Text() != llm.ProviderIssue.Sentence(lang.Voice{}) {
			w.Errorf("it ended as %+v with %q", v.Outcome, v.Text())
		}
	})
}

// A writing action is finished and recorded before its run yields, and the later turn waits for that.
func TestWritingActionIsFinished(t *testing.T) {
	withHarness(t, func(w *harness) {
		a := &fakeAction{name: "WRITE", effect: action.Writes, do: takes(20 * time.Second)}
		w.addActions(a)
		w.model.queue([]step{write(fox), call(0, "a", "WRITE", "{}")}, []step{write("B's answer")}) // A has no second round
		n := w.start()
		first := n.sendText("A")
		time.Sleep(time.Second)
		second := n.sendText("B")
		time.Sleep(5 * time.Second)
		if r := w.run(first); r.Acting != "a" || r.Acted != "" || r.Outcome.Done() {
			w.Errorf("while it writes, the journal knows %+v", r)
		}
		w.wantAnswer(second, answer.Completed, "B's answer")
		if r := w.run(first); r.Acted != "a" || r.Outcome.Status != answer.Superseded || a.times() != 1 {
			w.Errorf("afterwards it knows %+v", r)
		}
		w.wantModelCalls(2)
	})
}

// I14: who adopts a run in which an action has begun to write does not do it again, and says so.
func TestWritingActionIsNotDoneAgain(t *testing.T) {
	for name, after := range map[string]time.Duration{"cut off within": time.Second, "cut off behind": 30 * time.Second} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			a := &fakeAction{name: "WRITE", effect: action.Writes, do: takes(20 * time.Second)}
			w.addActions(a)
			w.model.queue([]step{write(fox), call(0, "a", "WRITE", "{}")}, []step{pause(time.Hour)})
			n := w.start()
			acc := n.sendText("A")
			time.Sleep(after)
			n.shutdown()
			w.start()
			want := fox + "\n\n_(Interrupted by a restart. The action in progress was not repeated.)_"
			w.wantAnswer(acc, answer.Failed, want)
			if a.times() != 1 {
				w.Errorf("it was done %d times; want 1", a.times())
			}
			if got := w.chat.visible(); len(got) != 1 || got[0] != want {
				w.Errorf("the chat shows %q", got)
			}
		}))
	}
}

// An action may say what no store takes: that must not keep its run from ending (I12).
func TestBrokenText(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.addActions(&fakeAction{name: "DO", do: func(_ context.Context, c *action.Call) (action.Result, error) {
			c.Update("caf\xe9")
			return action.Result{Text: "\xff"}, nil
		}})
		w.model.queue([]step{call(0, "a", "DO", "{}")}, []step{write("half \xf0\x9f")})
		n := w.start()
		w.wantAnswer(n.sendText("do it"), answer.Completed, "caf\ufffd\n\nhalf \ufffd")
		synctest.Wait()
		if got := w.chat.visible(); len(got) != 1 || got[0] != "caf\ufffd\n\nhalf \ufffd" {
			w.Errorf("the chat shows %q", got)
		}
	})
}

// The first question after a start has the actions of servers that are being started.
func TestFirstQuestionWaitsForActions(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		up := make(chan struct{})
		var live []action.Action
		w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{
			Name: "server",
			Live: func() []action.Action { return live },
			Starting: func(ctx context.Context) {
				select {
				case <-up:
				case <-ctx.Done():
				}
			},
		})
		n := w.start()
		time.AfterFunc(3*time.Second, func() {
			live = []action.Action{&fakeAction{name: "LOOK_UP"}}
			close(up)
		})
		w.model.queue([]step{call(0, "a", "LOOK_UP", "{}")}, []step{write("Found.")})
		begun := time.Now()
		w.wantAnswer(n.sendText("look it up"), answer.Completed, "Found.")
		if asked := w.model.requests()[0]; !slices.ContainsFunc(asked.Tools, func(t llm.Tool) bool { return t.Name == "LOOK_UP" }) || asked.From.Sub(begun) != 3*time.Second {
			t.Errorf("after %v the model has the tools %+v", asked.From.Sub(begun), asked.Tools)
		}
	})
}

// A model that refuses tools or images is answered for in one sentence, and the room goes on.
func TestRefusedAbilitiesAreSaid(t *testing.T) {
	for _, kind := range []llm.FailureKind{llm.NoTools, llm.NoVision} {
		withHarness(t, func(w *harness) {
			w.model.queue([]step{fails(&llm.Failure{Kind: kind, Err: errors.New("400")})}, []step{write("Noon.")})
			n := w.start()
			if o, said := w.waitAnswer(n.sendText("What is it?")); o.Status != answer.Failed || o.Failure != kind || said != kind.Sentence(lang.Voice{}) || len(w.model.requests()) != 1 {
				t.Errorf("%+v %q", o, said)
			}
			w.wantAnswer(n.sendText("And the time?"), answer.Completed, "Noon.")
		})
	}
}
