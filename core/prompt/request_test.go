package prompt_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/prompt"
	"parley/internal/require"
)

// says is a provider with a text.
type says string

func (says) Spec() action.ProviderSpec { return action.ProviderSpec{Name: "LONG"} }

func (s says) Provide(context.Context, action.TurnContext) (action.ProviderResult, error) {
	return action.ProviderResult{Text: string(s)}, nil
}

// The longer the character, the less stays of a provider's result: at least a 128th of the prompt, and then it does not fit.
func TestResultsAreCutToFit(t *testing.T) {
	const limit = 8192
	plugins := []action.Plugin{{Name: "p", Providers: []action.Provider{says(strings.Repeat("long ", 20_000))}}}
	c := require.Value(prompt.NewComposer(plugins, nil, prompt.Recall{Prompt: limit}, false, nil))(t)
	kept := map[int]bool{} // the lengths of the result
	for system := 4000; ; system += 25 {
		turn := action.TurnContext{Agent: chat.Agent{ID: "a", System: strings.Repeat("rule ", system)}}
		req, err := c.Turn(turn).Request(t.Context())
		if err != nil {
			break
		}
		all := req.System
		for _, m := range req.Messages {
			all += m.Text
		}
		kept[strings.Count(all, "long ")] = true
	}
	if got, want := slices.Sorted(maps.Keys(kept)), []int{48, 100, 202, 407, 816}; !slices.Equal(got, want) { // of words of five characters
		t.Errorf("the result is cut to %d words; want %d", got, want)
	}
}

func TestDecisive(t *testing.T) {
	for text, want := range map[string]string{
		"RESPOND": "RESPOND", "respond.": "RESPOND", "REPLY": "RESPOND", "Yes!": "RESPOND", "STOP": "STOP", "IGNORE": "IGNORE",
		"none": "IGNORE", "No.": "IGNORE", "**RESPOND**": "RESPOND", "<action>STOP</action>": "STOP",
		"I won't stop: IGNORE": "IGNORE", "RESPOND, do not IGNORE": "RESPOND", "no, do not respond": "IGNORE",
		"": "", "I am not sure": "", "RESPONDING": "", "42": "",
	} {
		if got := prompt.Decisive(text); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}
