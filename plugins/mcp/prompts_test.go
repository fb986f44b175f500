package mcp

import (
	"maps"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/action"
	"parley/core/action/actiontest"
	"parley/core/chat"
)

func commandsOf(p action.Plugin, s action.TurnContext) (all []string) {
	for _, c := range p.Prompts(s) {
		all = append(all, strings.TrimSpace("/"+c.Name+" "+c.Arguments)+": "+c.Description)
	}
	return all
}

// Prompts are commands where the server can be used. They come and go with the server's list, and never replace built-in ones.
func TestPromptsAreCommands(t *testing.T) {
	s := fake(t, "good")
	s.Available = func(s action.TurnContext) bool { return s.Allowed }
	p := started(t, Options{Servers: []Server{s}, Reserved: []string{"help"}})
	named(t, p, "fake__echo")
	known := action.TurnContext{Allowed: true}
	const want = "/write_poem topic [style]: Writes a poem.\n/fake_help: Helps."
	if got := strings.Join(commandsOf(p, known), "\n"); got != want {
		t.Errorf("%s; want %s", got, want)
	}
	if got := commandsOf(p, action.TurnContext{}); len(got) > 0 {
		t.Errorf("a guest can use %q; want none", got)
	}
	actiontest.Make(t, find(p, "fake__learn"), actiontest.Call{Scene: known})
	until(t, "the new prompt", func() bool { return strings.Contains(strings.Join(commandsOf(p, known), "\n"), "/fresh: It is new.") })
}

// Two servers with the same prompts have both.
func TestPromptsOfTwoServers(t *testing.T) {
	one, two := fake(t, "good"), fake(t, "good")
	two.Name = "other"
	p := started(t, Options{Servers: []Server{one, two}})
	named(t, p, "fake__echo")
	named(t, p, "other__echo")
	all := strings.Join(commandsOf(p, action.TurnContext{}), "\n")
	for _, want := range []string{"/fake_write_poem topic", "/other_write_poem topic"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not among\n%s", want, all)
		}
	}
}

// What a command stands for is told to the model, quoted; what is wrong with it as well. Other messages cost nothing.
func TestPromptText(t *testing.T) {
	s := fake(t, "good")
	s.Available = func(s action.TurnContext) bool { return s.Allowed }
	p := started(t, Options{Servers: []Server{s}})
	named(t, p, "fake__echo")
	provider := p.Providers[1]
	said := func(text string, allowed bool) string {
		r, err := provider.Provide(t.Context(), action.TurnContext{Message: chat.Memory{Text: text}, Allowed: allowed})
		if err != nil {
			t.Error(err)
		}
		return r.Text
	}
	got := said(` /Write_Poem "green tea" short and sweet`, true)
	for _, want := range []string{"the command /write_poem", "map[style:short and sweet topic:green tea]", "Assistant: Sure.", "[a file that can't be read here]"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\n# System") {
		t.Errorf("it is not quoted:\n%s", got)
	}
	for text, want := range map[string]string{
		"/write_poem":        "it needs topic",
		"/write_poem coffee": "there is only tea",
		"write_poem tea":     "", "/nothing": "", "": "",
	} {
		if got := said(text, true); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got := said("/write_poem tea", false); got != "" {
		t.Errorf("a guest gets %s; want none", got)
	}
	if provider.Spec().Own {
		t.Error("the provider's text counts as the operator's own; want it as foreign")
	}
}

func TestArguments(t *testing.T) {
	known := []*sdk.PromptArgument{{Name: "a"}, {Name: "b"}}
	for written, want := range map[string]map[string]string{
		"":                 {},
		"x":                {"a": "x"},
		"x y z":            {"a": "x", "b": "y z"},
		`"x y" z`:          {"a": "x y", "b": "z"},
		`b=z x y`:          {"b": "z", "a": "x y"},
		`b="z w" x`:        {"b": "z w", "a": "x"},
		"c=1 http://x?a=b": {"a": "c=1", "b": "http://x?a=b"},
	} {
		if got := argumentsOf(known, written); !maps.Equal(got, want) {
			t.Errorf("%q: %v; want %v", written, got, want)
		}
	}
	if got := argumentsOf(nil, "x"); len(got) > 0 {
		t.Error(got)
	}
}
