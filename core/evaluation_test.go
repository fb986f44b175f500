package core_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"parley/core/action"
	"parley/core/event"
	"parley/core/llm"
	"parley/plugins/essentials"
)

// A template for evaluations, of the character or set while the gateway runs, is asked every few turns with the answer in it, and only
// then is there an evaluator. What it says is told to later prompts of that room.
func TestEvaluationTemplate(t *testing.T) {
	const judge = "Evaluate this as {{agentName}}: {{recentMessages}} {{providers}}"
	for name, c := range map[string]struct{ says, told string }{
		"text":     {"Ada is in a hurry.\nBe brief.", "# What you made of the conversation so far\nAda is in a hurry.\n  Be brief."},
		"form":     {"<response><thought>hm</thought><text>Be brief.</text></response>", "# What you made of the conversation so far\nBe brief."},
		"nothing":  {"NONE", ""},
		"too much": {strings.Repeat("x", 3000), "# What you made of the conversation so far\n" + strings.Repeat("x", 2000) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(w *harness) {
				small := &model{respond: func(llm.Request) []step { return []step{write(c.says)} }}
				w.cfg.Models.Small = small
				d := &eventLog{}
				w.cfg.Observers = []event.Observer{d}
				w.cfg.Plugins = []action.Plugin{essentials.New(essentials.Deps{Store: w.Store, Evaluation: true})}
				n := w.start()
				for range 4 {
					w.waitAnswer(n.sendText("Hurry up"))
				}
				synctest.Wait()
				if started := slices.ContainsFunc(d.events(), func(e event.Event) bool { _, is := e.(event.EvaluatorStarted); return is }); started || len(small.requests()) > 0 {
					t.Error("an evaluator ran without a template; want none")
				}
				w.Must(n.SetTemplates(map[string]string{"evaluationTemplate": judge}))
				for range 4 {
					w.waitAnswer(n.sendText("Hurry up"))
				}
				synctest.Wait()
				asked := small.requests()
				if len(asked) != 1 || !strings.HasPrefix(asked[0].Messages[0].Text, "Evaluate this as ") || !strings.Contains(asked[0].Messages[0].Text, "You said: Hurry up") {
					t.Fatalf("it was asked %+v", asked)
				}
				w.waitAnswer(n.sendText("And now?"))
				if got := promptText(w.lastPrompt()); !strings.Contains(got, c.told) || (c.told == "") == strings.Contains(got, "What you made") {
					t.Errorf("told is\n%s", got)
				}
				for range 3 {
					w.waitAnswer(n.sendText("Hurry up"))
				}
				synctest.Wait()
				if asked := small.requests(); len(asked) != 2 || strings.Contains(asked[1].Messages[0].Text, "What you made") {
					t.Errorf("it was asked %d times; at last %q", len(asked), asked[len(asked)-1].texts())
				}
				w.waitAnswer(n.sendMention("And here?"))
				if got := promptText(w.lastPrompt()); strings.Contains(got, "What you made") {
					t.Errorf("it is told in another room:\n%s", got)
				}
			})
		})
	}
}
