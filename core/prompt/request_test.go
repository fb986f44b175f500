package prompt_test

import (
	"testing"

	"parley/core/prompt"
)

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
