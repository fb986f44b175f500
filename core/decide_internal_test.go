package core

import "testing"

// The order of the rules: muted; private rooms, rooms and sources that are always answered, addressed; unfollowed; not
// ambient; called by name; the model. Sources and rooms count only when they are exactly those.
func TestDecisionOrder(t *testing.T) {
	cfg := Config{Agent: Agent{Name: "Parley", Names: []string{"Polly", ""}}, Access: Access{
		Always: RoomSet{Chats: map[string]bool{"fake:7": true}}, Sources: map[string]bool{"client_chat": true, "api": true},
	}}
	plain := Message{Memory: Memory{Text: "It rains."}, Place: Room{Kind: Group}}
	named, addressed, private := plain, plain, plain
	named.Text = "parley, does it rain?"
	addressed.Addressed = true
	private.Place.Kind = Direct
	voice, api, self := private, private, private
	voice.Place.Kind, api.Place.Kind, self.Place.Kind = VoiceDirect, API, Self
	always, almost, source, capitals, longer := plain, plain, plain, plain, plain
	always.Place.Connector, always.Place.Chats = "fake", []string{"70", "7"}
	almost.Place.Connector, almost.Place.Chats = "fake", []string{"70", "07"}
	source.Source, capitals.Source, longer.Source = "api", "API", "my client_chat"
	spoken, shown := plain, plain
	spoken.Text, spoken.Files = "", []Attachment{{Voice: true}}
	shown.Text, shown.Files = "", []Attachment{{Type: "image/png"}}
	for name, c := range map[string]struct {
		m       Message
		a       Attention
		mention decision // with GroupMentionOnly
		ambient decision // with GroupAmbient
	}{
		"private":               {private, Normal, yes, yes},
		"private voice":         {voice, Normal, yes, yes},
		"the API":               {api, Normal, yes, yes},
		"itself":                {self, Normal, yes, yes},
		"always":                {always, Normal, yes, yes},
		"always, unfollowed":    {always, Unfollowed, yes, yes},
		"always, muted":         {always, Muted, no, no},
		"almost":                {almost, Normal, contextOnly, maybe},
		"source":                {source, Normal, yes, yes},
		"source, unfollowed":    {source, Unfollowed, yes, yes},
		"source, muted":         {source, Muted, no, no},
		"source in capitals":    {capitals, Normal, contextOnly, maybe},
		"a longer source":       {longer, Normal, contextOnly, maybe},
		"a voice unheard":       {spoken, Normal, contextOnly, contextOnly},
		"a picture":             {shown, Normal, contextOnly, maybe},
		"private, muted":        {private, Muted, no, no},
		"private, unfollowed":   {private, Unfollowed, yes, yes},
		"addressed":             {addressed, Normal, yes, yes},
		"addressed, muted":      {addressed, Muted, no, no},
		"addressed, unfollowed": {addressed, Unfollowed, yes, yes},
		"named":                 {named, Normal, contextOnly, yes},
		"named, ambient room":   {named, Ambient, yes, yes},
		"named, unfollowed":     {named, Unfollowed, no, no},
		"named, muted":          {named, Muted, no, no},
		"plain":                 {plain, Normal, contextOnly, maybe},
		"plain, ambient room":   {plain, Ambient, maybe, maybe},
		"plain, unfollowed":     {plain, Unfollowed, no, no},
		"plain, muted":          {plain, Muted, no, no},
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
	a := Agent{Name: "Parley", Names: []string{"Ünal Bot", ""}}
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
	undecided := func(n ResponseID) Run { return Run{Response: n, Kind: RunDecide} }
	decided := func(n ResponseID) Run { return Run{Response: n} }
	for _, c := range []struct {
		open []Run
		want ResponseID
	}{
		{[]Run{undecided(1)}, 0}, {[]Run{decided(1), undecided(2)}, 1}, {[]Run{undecided(1), decided(2), undecided(3)}, 2},
	} {
		if got := latest(c.open).Response; got != c.want {
			t.Errorf("%+v: %d; want %d", c.open, got, c.want)
		}
	}
}
