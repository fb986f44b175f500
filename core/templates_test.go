package core_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/internal/subtest"
	"parley/plugins/essentials"
)

// Of the three levels the character's counts most, then that of the last plugin; a text that says nothing does not count.
// Each is replaced while the gateway runs, or nothing is.
func TestTemplateLevels(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Plugins = []action.Plugin{
			{Name: "one", Templates: map[string]string{"messageHandler": "{{#if native}}one{{/if}}"}},
			{Name: "two", Templates: map[string]string{"messageHandlerTemplate": "{{#if native}}two {{agentName}}{{/if}}"}},
		}
		n := w.start()
		system := func(want string) {
			w.Helper()
			w.wantAnswer(n.sendText("Hello"), answer.Completed, "You said: Hello")
			calls := w.model.requests()
			if got, ok := strings.CutPrefix(calls[len(calls)-1].System, "Be brief.\n\n"); !ok || !strings.HasPrefix(got, want+"\n") {
				w.Errorf("the system prompt is %q; want %q", got, want)
			}
		}
		system("two Agent")
		w.Must(n.SetTemplates(map[string]string{"messageHandler": "{{#if native}}own {{roomKind}}{{/if}}"}))
		system("own direct")
		var wrong *prompt.TemplateError
		var place *prompt.SyntaxError
		err := n.SetTemplates(map[string]string{"continue": "ok", "messageHandler": "a\n {{unknown}}"})
		if !errors.As(err, &wrong) || !errors.As(err, &place) || wrong.Name != "messageHandler" || place.Line != 2 || place.Column != 2 {
			w.Errorf("the error is %v", err)
		}
		if err := n.SetTemplates(map[string]string{"shouldReply": "x"}); err == nil || !strings.Contains(err.Error(), "there are shouldRespond") {
			w.Errorf("the error is %v", err)
		}
		system("own direct")
		w.Must(n.SetTemplates(map[string]string{"summaryTemplate": "Sum up {{recentMessages}}{{summary}}"}))
		system("own direct")
		if got := n.Templates(); len(got) != 2 || got["messageHandler"] != "{{#if native}}own {{roomKind}}{{/if}}" || got["summary"] == "" {
			w.Errorf("the templates are %q", got)
		}
		n.Templates()["messageHandler"] = "changed by the caller"
		w.Must(n.SetTemplates(map[string]string{"messageHandlerTemplate": " \n"}))
		system("two Agent")
		if got := n.Templates(); len(got) != 1 {
			w.Errorf("the templates are %q; want 1", got)
		}
	})
}

// A wrong template keeps a gateway from starting, anyone who brings it.
func TestWrongTemplate(t *testing.T) {
	bad := map[string]string{"shouldRespondTemplate": "{{#if agentName}}"}
	for name, cfg := range map[string]core.Config{
		"character": {Agent: chat.Agent{Templates: bad}},
		"plugin":    {Plugins: []action.Plugin{{Name: "p", Templates: bad}}},
	} {
		if _, err := core.New(cfg); err == nil || !strings.Contains(err.Error(), "template shouldRespond: line 1, column 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Templates are replaced while runs go on.
func TestSetTemplatesMeanwhile(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 20 {
					_ = n.SetTemplates(map[string]string{"messageHandler": "{{#if native}}{{system}}{{/if}}"})
				}
			})
		}
		w.wantAnswer(n.sendText("Hello"), answer.Completed, "You said: Hello")
		all.Wait()
	})
}

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
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
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
					w.Errorf("the prompt lacks %q:\n%s", want, all)
				}
			}
			if n := strings.Count(all, "When does the shop open?"); n != 1 || !strings.HasPrefix(req.System, "You are the agent of a shop.") {
				w.Errorf(`the question is there %d times, and the system prompt is %q; want 1 and it to begin with "You are the agent of a shop."`, n, req.System)
			}
		}))
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
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
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
				w.Error("an evaluator ran without a template; want none")
			}
			w.Must(n.SetTemplates(map[string]string{"evaluationTemplate": judge}))
			for range 4 {
				w.waitAnswer(n.sendText("Hurry up"))
			}
			synctest.Wait()
			asked := small.requests()
			if len(asked) != 1 || !strings.HasPrefix(asked[0].Messages[0].Text, "Evaluate this as ") || !strings.Contains(asked[0].Messages[0].Text, "You said: Hurry up") {
				w.Fatalf("it was asked %+v", asked)
			}
			w.waitAnswer(n.sendText("And now?"))
			if got := promptText(w.lastPrompt()); !strings.Contains(got, c.told) || (c.told == "") == strings.Contains(got, "What you made") {
				w.Errorf("told is\n%s", got)
			}
			for range 3 {
				w.waitAnswer(n.sendText("Hurry up"))
			}
			synctest.Wait()
			if asked := small.requests(); len(asked) != 2 || strings.Contains(asked[1].Messages[0].Text, "What you made") {
				w.Errorf("it was asked %d times; at last %q", len(asked), asked[len(asked)-1].texts())
			}
			w.waitAnswer(n.sendMention("And here?"))
			if got := promptText(w.lastPrompt()); strings.Contains(got, "What you made") {
				w.Errorf("it is told in another room:\n%s", got)
			}
		}))
	}
}
