package prompt_test

import (
	"slices"
	"testing"

	"parley/core/prompt"
)

func TestTemplateName(t *testing.T) {
	for key, want := range map[string]string{
		"shouldRespondTemplate": "shouldRespond", "messageHandler": "messageHandler", "evaluationTemplate": "evaluation",
		"reflectionTemplate": "reflection", "continueTemplate": "continue", "Template": "", "other": "", "": "",
	} {
		if got := prompt.TemplateName(key); got != want {
			t.Errorf("%q is %q; want %q", key, got, want)
		}
	}
	for _, name := range prompt.TemplateNames() {
		if prompt.TemplateName(name+"Template") != name {
			t.Errorf("%s is not known by its long name", name)
		}
	}
	seed := []string{"agentName", "providers", "actionNames", "recentMessages", "relevantKnowledge", "characterBio", "messageText", "userName", "roomId", "worldContext"}
	for _, name := range seed {
		if fields, ok := prompt.Variables()[name]; !ok || slices.Contains(fields, "this") {
			t.Errorf("there is no variable %s", name)
		}
	}
}
