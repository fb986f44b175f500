package core_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/prompt"
	"parley/internal/require"
)

var (
	variableRow = regexp.MustCompile("(?m)^\\| (`.*?) \\| .* \\|$")
	variable    = regexp.MustCompile("`(\\w+)`(?: \\(list: ([^)]*)\\))?")
)

// documentedVariables reads the table of docs/character.md: the fields of the items of each variable, none if it is a text.
func documentedVariables(t *testing.T) map[string][]string {
	t.Helper()
	data := require.Value(os.ReadFile("../docs/character.md"))(t)
	_, table, ok := strings.Cut(string(data), "| variable | content |\n")
	if !ok {
		t.Fatal("the docs have no table of variables")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	all := map[string][]string{}
	for _, row := range variableRow.FindAllStringSubmatch(table, -1) {
		names, items := strings.CutSuffix(row[1], " (lists of `this`)")
		for _, v := range variable.FindAllStringSubmatch(names, -1) {
			all[v[1]] = nil
			if items {
				all[v[1]] = []string{"this"}
			}
			for _, field := range variable.FindAllStringSubmatch(v[2], -1) {
				all[v[1]] = append(all[v[1]], field[1])
			}
		}
	}
	return all
}

// The room is described in English.
func TestRoomsAreDescribedInEnglish(t *testing.T) {
	for kind, want := range map[chat.RoomKind]string{chat.API: "This is an api chat on fake.", chat.Direct: "This is a direct chat on fake."} {
		withHarness(t, func(w *harness) {
			w.withProviders()
			m := w.message("fake/x", "ada", "Hello")
			m.Place = chat.Room{ID: "fake/x", Kind: kind, Connector: "fake"}
			w.waitAnswer(w.start().send(m))
			if asked := promptText(w.lastPrompt()); !strings.Contains(asked, want) {
				t.Errorf("the model reads %s; want it to contain %s", asked, want)
			}
		})
	}
}

// dump is a template that writes each variable in a line of its own.
func dump(vars map[string][]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		value := "{{" + name + "}}"
		if fields := vars[name]; fields != nil {
			value = "{{#each " + name + "}}{{" + strings.Join(fields, "}}|{{") + "}};{{/each}}"
		}
		fmt.Fprintf(&b, "%s=[%s]\n", name, value)
	}
	return b.String()
}

// Each variable that is documented has what the docs say of it in a prompt, and there are no others. A variable without a case fails.
func TestTemplateVariables(t *testing.T) {
	documented := documentedVariables(t)
	for name, fields := range prompt.Variables() {
		if got, ok := documented[name]; !ok || !slices.Equal(got, fields) {
			t.Errorf("of %s with %q the docs say %q", name, fields, got)
		}
	}
	want := map[string]string{
		"agentName": "Eliza]", "system": "You are Eliza.]", "characterBio": "Eliza runs a small bookshop.",
		"providers":        "This is a group chat",
		"dynamicProviders": "WEATHER|the weather in Rome;",
		"actionNames":      "REPLY, IGNORE", "actions": `A|does it|{"type":"object"};`,
		"recentMessages": "ada: Good morning", "messages": "ada|Good morning;Eliza|Well.;ada|When does the shop open?;]", "summary": "They met.]",
		"messageText": "When does the shop open?]", "userName": "ada]", "roomId": string(group) + "]", "roomName": "Lobby]", "roomKind": "group]", "group": "yes]",
		"relevantKnowledge": "The shop opens at nine.", "facts": "- ada: keeps bees]", "worldContext": `This is a group chat "Lobby" on fake.]`,
		"bio": "Eliza runs a small bookshop.;She has read nearly all of it.;]", "topics": "novels;tea;]", "adjectives": "warm;dry;]", "postExamples": "Kraa.;]",
		"native": "yes]", "partialAnswer": "A is done]", "actionResults": "A {}: found]", "step": "2]", "maxSteps": "6]",
	}
	var decided, native string
	withHarness(t, func(w *harness) {
		w.withProviders()
		w.cfg.Agent.System = "You are Eliza."
		w.cfg.Agent.Character.PostExamples = []string{"Kraa."}
		w.cfg.Recall.Summaries = true
		w.cfg.Generation = generate.Config{Mode: generate.XML, MultiStep: true}
		act := &fakeAction{name: "A", do: func(_ context.Context, c *action.Call) (action.Result, error) {
			c.Update("A is done")
			return action.Result{Text: "found"}, nil
		}}
		w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{
			Name: "test", Actions: []action.Action{act}, Providers: []action.Provider{provider{action.ProviderSpec{Name: "WEATHER", Description: "the weather in Rome", Dynamic: true}, "It rains."}},
		})
		said := []step{write("<response><text>Well.</text></response>")}
		finished := []step{write("<response><isFinish>true</isFinish></response>")}
		ask := func(n *process, text string) chat.Accepted {
			m := w.groupMention("ada", text)
			m.Place.Name = "Lobby"
			acc := n.send(m)
			w.waitAnswer(acc)
			return acc
		}
		n := w.start()
		w.model.queue(finished, said, finished, said)
		first := ask(n, "Hello")
		ask(n, "Good morning")
		w.Must(w.Store.SaveNote(w.Context(), chat.RoomNote{Room: group, Kind: chat.FactNote, Key: "bees", Text: "ada: keeps bees", At: time.Now()}))
		w.Must(w.Store.SaveNote(w.Context(), chat.RoomNote{Room: group, Kind: chat.SummaryNote, Text: "They met.", First: first.Memory, Last: w.storedAnswer(first).ID, At: time.Now()}))
		w.Must(n.SetTemplates(map[string]string{"multiStepDecision": dump(documented)}))
		w.model.queue([]step{write("<response><action>A</action></response>")}, finished, said)
		w.wantAnswer(ask(n, "When does the shop open?"), answer.Completed, "A is done\n\nWell.")
		asked := w.model.requests()
		decided = asked[len(asked)-2].Messages[0].Text
		n.shutdown()
		w.cfg.Generation = generate.Config{}
		w.cfg.Agent.Templates = map[string]string{"messageHandler": dump(documented)}
		ask(w.start(), "Hello")
		native = w.lastPrompt().System
	})
	for name := range documented {
		in := decided
		if name == "native" {
			in = native
		}
		_, got, _ := strings.Cut("\n"+in, "\n"+name+"=[")
		got, _, _ = strings.Cut(got, "]\n")
		if c := want[name]; c == "" || !strings.Contains(got+"]", c) {
			t.Errorf("%s is %q; want %q", name, got, c)
		}
	}
	if len(want) != len(documented) {
		t.Errorf("there are %d cases for %d variables", len(want), len(documented))
	}
}
