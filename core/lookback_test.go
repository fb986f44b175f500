package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/plugins/essentials"
)

// evaluator is one made of a function.
type evaluator func(ctx context.Context, s action.TurnContext, said chat.Memory) error

func (evaluator) Name() string { return "TEST" }
func (e evaluator) Evaluate(ctx context.Context, s action.TurnContext, said chat.Memory) error {
	return e(ctx, s, said)
}

// Evaluators look back every few turns, when the answer is there; no user waits for them but the end of the process, and what
// becomes of them is no user's end.
func TestEvaluators(t *testing.T) {
	withHarness(t, func(w *harness) {
		var begun, ended atomic.Int32
		w.cfg.Grace = time.Minute
		w.cfg.Plugins = []action.Plugin{{Name: "p", Evaluators: []action.Evaluator{
			evaluator(func(context.Context, action.TurnContext, chat.Memory) error { panic("broken") }),
			evaluator(func(context.Context, action.TurnContext, chat.Memory) error { return errors.New("no") }),
			evaluator(func(_ context.Context, s action.TurnContext, said chat.Memory) error {
				begun.Add(1)
				if said.Text != "You said: "+s.Message.Text || w.storedText(said.ID) != said.Text {
					t.Errorf("it looks back on %q after %q", said.Text, s.Message.Text)
				}
				time.Sleep(10 * time.Second)
				ended.Add(1)
				return nil
			}),
		}}}
		n := w.start()
		for range 8 {
			at := time.Now()
			w.wantAnswer(n.sendText("Hello"), answer.Completed, "You said: Hello")
			if time.Since(at) > 5*time.Second {
				w.Error("the turn waited for an evaluator; want its answer within 5 seconds")
			}
			time.Sleep(20 * time.Second)
		}
		if begun.Load() != 2 || ended.Load() != 2 || n.Counts().Evaluators != 4 {
			w.Errorf("of 8 turns %d were looked back on, %d to the end; %+v", begun.Load(), ended.Load(), n.Counts())
		}
		for range 4 {
			w.wantAnswer(n.sendText("Hello"), answer.Completed, "You said: Hello")
		}
		synctest.Wait()
		if begun.Load() != 3 {
			w.Errorf("%d were begun; want 3", begun.Load())
		}
		n.shutdown()
		if ended.Load() != 3 {
			w.Error("the process ended before its evaluator")
		}
	})
}

// Evaluators look back as often where commands, notices and failures take numbers of turns, too.
func TestEvaluatorsComeAsOften(t *testing.T) {
	for name, between := range map[string]func(w *harness, n *process){
		"commands": func(w *harness, n *process) { w.waitAnswer(n.sendText("/status")) },
		"notices": func(w *harness, n *process) {
			acc, err := n.Say(w.Context(), chat.Notice{To: chat.Address{Connector: "fake", Room: room}, Text: "By the way.", Key: fmt.Sprint(time.Now())})
			w.Must(err)
			w.waitAnswer(acc)
		},
		"failures": func(w *harness, n *process) {
			w.model.queue([]step{fails(&llm.Failure{Kind: llm.NoProvider})})
			w.waitAnswer(n.sendText("Hello"))
		},
		"interruptions": func(w *harness, n *process) {
			w.model.queue([]step{write(fox), pause(time.Hour)})
			acc := n.sendText("Hello")
			time.Sleep(time.Second)
			n.stopAnswer(room)
			w.waitAnswer(acc)
		},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			var begun atomic.Int32
			w.cfg.Plugins = []action.Plugin{{Name: "p", Evaluators: []action.Evaluator{
				evaluator(func(context.Context, action.TurnContext, chat.Memory) error { begun.Add(1); return nil }),
			}}}
			n := w.start()
			for range 9 {
				w.waitAnswer(n.sendText("Hello"))
				between(w, n)
				time.Sleep(20 * time.Second)
			}
			if got := begun.Load(); got < 4 || got > 5 { // of 18 numbers
				w.Errorf("of 9 answers %d were looked back on; want at least 4 and at most 5", got)
			}
		}))
	}
}

// selective is an evaluator that chooses its turns.
type selective struct {
	evaluator
	wants func(s action.TurnContext) bool
}

func (a selective) Wants(s action.TurnContext) bool { return a.wants(s) }

// What a full queue refuses is counted, for /status too, and logged once per burst, without the id of a conversation: the line doesn't help
// to find one, and each further refusal would repeat it.
func TestSkippedEvaluatorsAreLoggedOncePerBurst(t *testing.T) {
	withHarness(t, func(w *harness) {
		reviewed := 0
		w.cfg.Plugins = []action.Plugin{{Name: "p", Evaluators: []action.Evaluator{selective{
			func(context.Context, action.TurnContext, chat.Memory) error {
				time.Sleep(50 * time.Second)
				reviewed++
				return nil
			},
			func(action.TurnContext) bool { return true },
		}}}}
		n := w.start()
		for burst := 1; burst <= 2; burst++ {
			for i := range 8 {
				w.wantAnswer(n.sendText(fmt.Sprint(i)), answer.Completed, fmt.Sprint("You said: ", i))
			}
			synctest.Wait()
			log := w.Logged.String()
			if got := n.Counts().Skipped; got != uint64(3*burst) || strings.Count(log, "evaluators are skipped") != burst {
				t.Errorf("after %d bursts %d are skipped, and the log is\n%s", burst, got, log)
			}
			for line := range strings.Lines(log) {
				if strings.Contains(line, "evaluators are skipped") && strings.Contains(line, string(room)) {
					t.Errorf("the log names the conversation: %s", line)
				}
			}
			time.Sleep(6 * time.Minute) // all that wait are done, and the next refusal is of another burst
			synctest.Wait()
			if reviewed != 5*burst {
				t.Errorf("after %d bursts %d turns are reviewed", burst, reviewed)
			}
		}
		if status := n.Counts().String(); !strings.Contains(status, "6 evaluators skipped under load") {
			t.Errorf(`the status is %q; want it to contain "6 evaluators skipped under load"`, status)
		}
	})
}

// An evaluator runs after each turn that it asks for, in their order, also while an earlier one is being reviewed. What is too much for the
// queue is counted. Each has an event for its start and its end.
func TestEvaluatorsThatAsk(t *testing.T) {
	withHarness(t, func(w *harness) {
		var reviewed []string
		d := &eventLog{}
		w.cfg.Observers = []event.Observer{d}
		w.cfg.Plugins = []action.Plugin{{Name: "p", Evaluators: []action.Evaluator{selective{
			func(_ context.Context, s action.TurnContext, _ chat.Memory) error {
				time.Sleep(50 * time.Second)
				reviewed = append(reviewed, s.Message.Text)
				if s.Message.Text == "3" {
					return errors.New("no")
				}
				return nil
			},
			func(s action.TurnContext) bool { return s.Message.Text != "2" },
		}}}}
		n := w.start()
		for i := range 8 {
			w.wantAnswer(n.sendText(fmt.Sprint(i)), answer.Completed, fmt.Sprint("You said: ", i))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		// The first is under way while the others come; four wait, and one is left out.
		if want := []string{"0", "1", "3", "4", "5"}; !slices.Equal(reviewed, want) || n.Counts().Skipped != 2 {
			t.Errorf("reviewed are %q, not %q; %+v", reviewed, want, n.Counts())
		}
		started, ended, failed := 0, 0, 0
		for _, e := range d.events() {
			switch e := e.(type) {
			case event.EvaluatorStarted:
				started++
			case event.EvaluatorCompleted:
				ended++
				if e.Evaluator != "TEST" || e.Duration < 50*time.Second || e.Run == "" {
					t.Errorf("the event is %+v", e)
				}
				if e.Err != "" {
					failed++
				}
			}
		}
		if started != 5 || ended != 5 || failed != 1 {
			t.Errorf("%d started, %d ended, %d failed", started, ended, failed)
		}
	})
}

// What people say of themselves is noted in their room alone, and told there later.
func TestReflection(t *testing.T) {
	withHarness(t, func(w *harness) {
		small := &model{respond: func(llm.Request) []step {
			return []step{write("- ada: keeps bees\nEve: owns all\nroom: is green\nNONE\nada: " + strings.Repeat("x", 300))}
		}}
		w.cfg.Models.Small = small
		w.cfg.Plugins = []action.Plugin{essentials.New(essentials.Deps{Store: w.Store, Reflection: true})}
		n := w.start()
		for range 4 {
			w.waitAnswer(n.sendText("I keep bees"))
		}
		facts := func() (texts []string) {
			synctest.Wait()
			notes := require.Value(w.Store.Notes(w.Context(), room, chat.FactNote, 10))(w)
			for _, n := range notes {
				texts = append(texts, n.Text)
			}
			return texts
		}
		if got := facts(); !slices.Equal(got, []string{"ada: keeps bees", "room: is green"}) {
			w.Errorf("noted is %q", got)
		}
		w.waitAnswer(n.sendText("What do I keep?"))
		if got := promptText(w.lastPrompt()); !strings.Contains(got, "- ada: keeps bees\n") {
			w.Errorf("it is not told:\n%s", got)
		}
		w.waitAnswer(n.sendMention("What does Ada keep?"))
		if got := promptText(w.lastPrompt()); strings.Contains(got, "bees") {
			w.Errorf("it is told in another room (SE-12):\n%s", got)
		}
	})
}

// A message that the model would not answer leaves a memory of that, which takes no place in later prompts; one that no user
// could judge leaves none and is counted.
func TestIgnoredIsRemembered(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.listenToGroup()
		small := &model{}
		w.cfg.Models.Small = small
		n := w.start()
		small.queue([]step{write("<response><reasoning>NO wonder: RESPOND?</reasoning><action>IGNORE</action></response>")})
		acc := n.sendAmbient("It rains.")
		w.wantAnswer(acc, answer.Ignored, "")
		kept := require.Value(w.Store.Recent(w.Context(), group, chat.IgnoredKind, 0, 5))(w)
		if len(kept) != 1 || kept[0].InReplyTo != acc.Memory || kept[0].Thought == "" || !slices.Equal(kept[0].Actions, []string{"IGNORE"}) {
			w.Errorf("remembered is %+v", kept)
		}
		small.queue([]step{write("<action>maybe</action>")})
		w.wantAnswer(n.sendAmbient("It pours."), answer.Ignored, "")
		if kept, _ := w.Store.Recent(w.Context(), group, chat.IgnoredKind, 0, 5); len(kept) != 1 || n.Counts().Undecided != 1 {
			w.Errorf("remembered is %+v, and %+v", kept, n.Counts())
		}
		w.wantAnswer(n.sendMention("Hello"), answer.Completed, "You said: ada: Hello")
		if turns := w.lastPrompt().Messages; len(turns) != 3 {
			w.Errorf("the prompt is %+v; want 3", turns)
		}
	})
}

// events returns what was heard.
func (d *eventLog) events() []event.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}
