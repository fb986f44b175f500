package chat_test

import (
	"testing"

	"parley/core/chat"
)

func TestCalled(t *testing.T) {
	a := chat.Agent{Name: "Parley", Names: []string{"Ünal Bot", ""}}
	for text, want := range map[string]bool{
		"Parley": true, "parley: hello": true, "  @PARLEY hello": true, "Parley's turn": true, "ünal bot, hello": true,
		"": false, "Parleys": false, "Parley2": false, "Hello Parley": false, "Par": false, "Ünal": false, "> Parley said": false,
	} {
		if got := a.IsCalled(text); got != want {
			t.Errorf("%q: %v; want %v", text, got, want)
		}
	}
}
