package discord

import (
	"testing"
)

// DR-15: a session is resumed where its READY says, if that can be.
func TestResumeAddress(t *testing.T) {
	g := &gateway{login: "wss://gateway.discord.gg", intent: 513}
	for said, want := range map[string]string{
		`""`:                                    "wss://gateway.discord.gg",
		`null`:                                  "wss://gateway.discord.gg",
		`"https://evil.example"`:                "wss://gateway.discord.gg",
		`"wss://gateway-us-east1-b.discord.gg"`: "wss://gateway-us-east1-b.discord.gg",
	} {
		s := g.newSession(frame{Seq: 1, Data: []byte(`{"session_id":"s","resume_gateway_url":` + said + `}`)})
		if s.URL != want || s.ID != "s" || s.Seq != 1 || s.Intents != 513 || s.At.IsZero() {
			t.Errorf("%s: %+v", said, s)
		}
	}
}
