package core_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"parley/core"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/prompt"
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
