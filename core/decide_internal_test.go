package core

import (
	"testing"

	"parley/core/chat"
)

// The order of the rules: muted; private rooms, rooms and sources that are always answered, addressed; unfollowed; not
// ambient; called by name; the model. Sources and rooms count only when they are exactly those.
func TestDecisionOrder(t *testing.T) {
	cfg := Config{Agent: chat.Agent{Name: "Parley", Names: []string{"Polly", ""}}, Access: Access{
		Always: RoomSet{Chats: map[string]bool{"fake:7": true}}, Sources: map[string]bool{"client_chat": true, "api": true},
	}}
	plain := chat.Message{Memory: chat.Memory{Text: "It rains."}, Place: chat.Room{Kind: chat.Group}}
	named, addressed, private := plain, plain, plain
	named.Text = "parley, does it rain?"
	addressed.Addressed = true
	private.Place.Kind = chat.Direct
	voice, api, self := private, private, private
	voice.Place.Kind, api.Place.Kind, self.Place.Kind = chat.VoiceDirect, chat.API, chat.Self
	always, almost, source, capitals, longer := plain, plain, plain, plain, plain
	always.Place.Connector, always.Place.Chats = "fake", []string{"70", "7"}
	almost.Place.Connector, almost.Place.Chats = "fake", []string{"70", "07"}
	source.Source, capitals.Source, longer.Source = "api", "API", "my client_chat"
	spoken, shown := plain, plain
	spoken.Text, spoken.Files = "", []chat.Attachment{{Voice: true}}
	shown.Text, shown.Files = "", []chat.Attachment{{Type: "image/png"}}
	for name, c := range map[string]struct {
		m       chat.Message
		a       chat.Attention
		mention decision // with GroupMentionOnly
		ambient decision // with GroupAmbient
	}{
		"private":               {private, chat.Normal, yes, yes},
		"private voice":         {voice, chat.Normal, yes, yes},
		"the API":               {api, chat.Normal, yes, yes},
		"itself":                {self, chat.Normal, yes, yes},
		"always":                {always, chat.Normal, yes, yes},
		"always, unfollowed":    {always, chat.Unfollowed, yes, yes},
		"always, muted":         {always, chat.Muted, no, no},
		"almost":                {almost, chat.Normal, contextOnly, maybe},
		"source":                {source, chat.Normal, yes, yes},
		"source, unfollowed":    {source, chat.Unfollowed, yes, yes},
		"source, muted":         {source, chat.Muted, no, no},
		"source in capitals":    {capitals, chat.Normal, contextOnly, maybe},
		"a longer source":       {longer, chat.Normal, contextOnly, maybe},
		"a voice unheard":       {spoken, chat.Normal, contextOnly, contextOnly},
		"a picture":             {shown, chat.Normal, contextOnly, maybe},
		"private, muted":        {private, chat.Muted, no, no},
		"private, unfollowed":   {private, chat.Unfollowed, yes, yes},
		"addressed":             {addressed, chat.Normal, yes, yes},
		"addressed, muted":      {addressed, chat.Muted, no, no},
		"addressed, unfollowed": {addressed, chat.Unfollowed, yes, yes},
		"named":                 {named, chat.Normal, contextOnly, yes},
		"named, ambient room":   {named, chat.Ambient, yes, yes},
		"named, unfollowed":     {named, chat.Unfollowed, no, no},
		"named, muted":          {named, chat.Muted, no, no},
		"plain":                 {plain, chat.Normal, contextOnly, maybe},
		"plain, ambient room":   {plain, chat.Ambient, maybe, maybe},
		"plain, unfollowed":     {plain, chat.Unfollowed, no, no},
		"plain, muted":          {plain, chat.Muted, no, no},
	} {
		for group, want := range map[GroupAccess]decision{GroupMentionOnly: c.mention, GroupAmbient: c.ambient} {
			cfg.Access.Group = group
			if got := cfg.decide(c.m, c.a); got != want {
				t.Errorf("%s, %s: %d; want %d", name, group, got, want)
			}
		}
	}
}

func TestCalled(t *testing.T) {
	a := chat.Agent{Name: "Parley", Names: []string{"Ünal Bot", ""}}
	for text, want := range map[string]bool{
		"Parley": true, "parley: hello": true, "  @PARLEY hello": true, "Parley's turn": true, "ünal bot, hello": true,
		"": false, "Parleys": false, "Parley2": false, "Hello Parley": false, "Par": false, "Ünal": false, "> Parley said": false,
	} {
		if got := isCalled(a, text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestDecisive(t *testing.T) {
	for text, want := range map[string]string{
		"RESPOND": "RESPOND", "respond.": "RESPOND", "REPLY": "RESPOND", "Yes!": "RESPOND", "STOP": "STOP", "IGNORE": "IGNORE",
		"none": "IGNORE", "No.": "IGNORE", "**RESPOND**": "RESPOND", "<action>STOP</action>": "STOP",
		"I won't stop: IGNORE": "IGNORE", "RESPOND, do not IGNORE": "RESPOND", "no, do not respond": "IGNORE",
		"": "", "I am not sure": "", "RESPONDING": "", "42": "",
	} {
		if got := decisive(text); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}

// What is undecided takes the room from nobody, and waits like everybody.
func TestLatest(t *testing.T) {
	undecided := func(n chat.ResponseID) chat.Run { return chat.Run{Response: n, Kind: chat.RunDecide} }
	decided := func(n chat.ResponseID) chat.Run { return chat.Run{Response: n} }
	for _, c := range []struct {
		open []chat.Run
		want chat.ResponseID
	}{
		{[]chat.Run{undecided(1)}, 0}, {[]chat.Run{decided(1), undecided(2)}, 1}, {[]chat.Run{undecided(1), decided(2), undecided(3)}, 2},
	} {
		if got := latest(c.open).Response; got != c.want {
			t.Errorf("%+v: %d; want %d", c.open, got, c.want)
		}
	}
}
