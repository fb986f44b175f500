package discord

import (
	"slices"
	"testing"
)

// An owner can tell channels of the same name apart: by their categories, and by their ids if these are the same.
func TestWritable(t *testing.T) {
	all := []guildChannel{
		{ID: "1", Name: "Chess", Type: 4}, {ID: "2", Name: "Go", Type: 4}, {ID: "3", Name: "Talk", Parent: "1"}, {ID: "4", Name: "talk", Parent: "2"},
		{ID: "5", Name: "news", Parent: "2"}, {ID: "6", Name: "news", Parent: "2"}, {ID: "7", Name: "news"}, {ID: "8", Name: "rules", Parent: "1"},
		{ID: "9", Name: "talk", Parent: "404", Flags: maskedChannel}, {ID: "x", Name: "talk"},
	}
	var names []string
	for _, c := range writable(all) {
		names = append(names, c.Name)
	}
	if want := []string{"Talk (Chess)", "talk (Go)", "news (Go) (5)", "news (Go) (6)", "news", "rules"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

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
