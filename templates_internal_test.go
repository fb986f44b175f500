package parley

import (
	"strings"
	"testing"

	"parley/config"
	"parley/internal/require"
)

// With a template that asks for the form, MCP tools are called as in the form. gateway check reports the parts that a template lacks.
func TestIncompleteTemplateOfACharacter(t *testing.T) {
	const form = "Talk as {{agentName}}. {{providers}} {{actionNames}} <response><actions></actions><text></text></response>"
	for name, c := range map[string]struct {
		template   string
		generation config.Generation
		form       bool
		lacks      string
	}{
		"built in":            {"", "native", false, ""},
		"by configuration":    {"", config.GenerateXML, true, ""},
		"by template":         {form, "native", true, "messageHandler lacks the providers to ask for, a place for parameters"},
		"one for both":        {"{{#if native}}{{system}}{{/if}}" + form, "native", false, "a place for parameters"},
		"nothing but a word":  {"Hello.", "native", false, "the conversation and the providers"},
		"a template in error": {"{{no such}}", "native", false, ""},
	} {
		cfg, err := DefaultConfig(func(string) (string, bool) { return "", false })
		require.NoError(t, err)
		cfg.Agent.Generation, cfg.Agent.Templates.MessageHandler = c.generation, c.template
		env := Env{}.filled()
		if got := asksForm(cfg, env); got != c.form {
			t.Errorf("%s: it asks for the form: %v; want %v", name, got, c.form)
		}
		if name == "a template in error" {
			continue
		}
		_, err = checkAgent(cfg, env)
		if (err != nil) != (c.lacks != "") || err != nil && !strings.Contains(err.Error(), c.lacks) {
			t.Errorf("%s: the check says %v", name, err)
		}
		if _, doubt := err.(warning); err != nil && !doubt { //nolint:errorlint // it is not wrapped
			t.Errorf("%s: it is an error: %v", name, err)
		}
	}
}
