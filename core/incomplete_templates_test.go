package core_test

import (
	"strings"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/plugins/essentials"
)

// Short templates, such as those in character files of elizaOS, leave parts out: the question, the agent's identity, and its abilities.
func TestIncompleteTemplatesAreCompleted(t *testing.T) {
	const support = "<task>Provide technical support as {{agentName}}</task>"
	const eliza = "<task>Talk as {{agentName}}.</task>\n<providers>\n{{providers}}\n</providers>\n<actionNames>{{actionNames}}</actionNames>\n" +
		"<output><response><thought></thought><actions>REPLY</actions><providers></providers><text></text></response></output>"
	for name, c := range map[string]struct {
		template string
		form     bool
		tags     bool // answers are written in the form
		want     []string
	}{
		"native":              {support, false, false, []string{"Provide technical support as Eliza"}},
		"form":                {support, true, true, []string{"Provide technical support as Eliza", "<params>", "<actions>", "DO: does it"}},
		"a template of eliza": {eliza, false, true, []string{"Talk as Eliza.", "<params>{}</params>: a JSON object", "WEATHER: the weather in Rome", "DO: does it"}},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(w *harness) {
				w.withProviders()
				w.cfg.Agent.System = "You are the agent of a shop."
				w.cfg.Agent.Templates = map[string]string{"messageHandlerTemplate": c.template}
				if c.form {
					w.useXML()
				}
				w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{
					Name: "test", Actions: []action.Action{&fakeAction{name: "DO"}},
					Providers: []action.Provider{provider{action.ProviderSpec{Name: "WEATHER", Description: "the weather in Rome", Dynamic: true}, "It rains."}},
				})
				if c.tags {
					w.model.queue([]step{write("<response><text>At nine.</text></response>")})
				} else {
					w.model.queue([]step{write("At nine.")})
				}
				w.wantAnswer(w.start().sendText("When does the shop open?"), answer.Completed, "At nine.")
				req := w.lastPrompt()
				all := promptText(req)
				for _, want := range append(c.want, "When does the shop open?", "Eliza runs a small bookshop.") {
					if !strings.Contains(all, want) {
						t.Errorf("the prompt lacks %q:\n%s", want, all)
					}
				}
				if n := strings.Count(all, "When does the shop open?"); n != 1 || !strings.HasPrefix(req.System, "You are the agent of a shop.") {
					t.Errorf(`the question is there %d times, and the system prompt is %q; want 1 and it to begin with "You are the agent of a shop."`, n, req.System)
				}
			})
		})
	}
}

// An evaluation is shown the conversation.
func TestIncompleteEvaluation(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.withProviders()
		w.cfg.Plugins[0] = essentials.New(essentials.Deps{Store: w.Store, Evaluation: true})
		w.cfg.Agent.Templates = map[string]string{"evaluationTemplate": "<task>Evaluate as {{agentName}}</task>"}
		n := w.start()
		for range 4 {
			w.waitAnswer(n.sendText("I like tea"))
			time.Sleep(time.Minute)
		}
		if asked := promptText(w.lastPrompt()); !strings.Contains(asked, "Evaluate as Eliza") || !strings.Contains(asked, "I like tea") {
			t.Errorf(`the model evaluates %s; want it to contain "Evaluate as Eliza" and it to contain "I like tea"`, asked)
		}
	})
}
