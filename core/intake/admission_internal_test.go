package intake

import (
	"testing"

	"parley/core/access"
	"parley/core/chat"
)

// The order of the rules: muted; private rooms, rooms and sources that are always answered, addressed; unfollowed; not
// ambient; called by name; the model. Sources and rooms count only when they are exactly those.
func TestDecisionOrder(t *testing.T) {
	ad := &Admission{Deaf: true, Agent: chat.Agent{Name: "Parley", Names: []string{"Polly", ""}}, Policy: access.Policy{
		Always: access.RoomSet{Chats: map[string]bool{"fake:7": true}}, Sources: map[string]bool{"client_chat": true, "api": true},
	}}
	plain := chat.Message{Memory: chat.Memory{Text: "It rains."}, Place: chat.Room{Kind: chat.Group}}
	named, addressed, private := plain, plain, plain
	named.Text = "parley, does it rain?"
	addressed.Addressed = true
	private.Place.Kind = chat.Direct
	api := private
	api.Place.Kind = chat.API
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
		mention access.Decision // with GroupMentionOnly
		ambient access.Decision // with GroupAmbient
	}{
		"private":               {private, chat.Normal, access.Yes, access.Yes},
		"the API":               {api, chat.Normal, access.Yes, access.Yes},
		"always":                {always, chat.Normal, access.Yes, access.Yes},
		"always, unfollowed":    {always, chat.Quiet, access.Yes, access.Yes},
		"always, muted":         {always, chat.Muted, access.No, access.No},
		"almost":                {almost, chat.Normal, access.ContextOnly, access.Maybe},
		"source":                {source, chat.Normal, access.Yes, access.Yes},
		"source, unfollowed":    {source, chat.Quiet, access.Yes, access.Yes},
		"source, muted":         {source, chat.Muted, access.No, access.No},
		"source in capitals":    {capitals, chat.Normal, access.ContextOnly, access.Maybe},
		"a longer source":       {longer, chat.Normal, access.ContextOnly, access.Maybe},
		"a voice unheard":       {spoken, chat.Normal, access.ContextOnly, access.ContextOnly},
		"a picture":             {shown, chat.Normal, access.ContextOnly, access.Maybe},
		"private, muted":        {private, chat.Muted, access.No, access.No},
		"private, unfollowed":   {private, chat.Quiet, access.Yes, access.Yes},
		"addressed":             {addressed, chat.Normal, access.Yes, access.Yes},
		"addressed, muted":      {addressed, chat.Muted, access.No, access.No},
		"addressed, unfollowed": {addressed, chat.Quiet, access.Yes, access.Yes},
		"named":                 {named, chat.Normal, access.ContextOnly, access.Yes},
		"named, ambient room":   {named, chat.Ambient, access.Yes, access.Yes},
		"named, unfollowed":     {named, chat.Quiet, access.No, access.No},
		"named, muted":          {named, chat.Muted, access.No, access.No},
		"plain":                 {plain, chat.Normal, access.ContextOnly, access.Maybe},
		"plain, ambient room":   {plain, chat.Ambient, access.Maybe, access.Maybe},
		"plain, unfollowed":     {plain, chat.Quiet, access.No, access.No},
		"plain, muted":          {plain, chat.Muted, access.No, access.No},
	} {
		for group, want := range map[access.GroupAccess]access.Decision{access.GroupMentionOnly: c.mention, access.GroupAmbient: c.ambient} {
			ad.Policy.Group = group
			if got := ad.decide(c.m, c.a); got != want {
				t.Errorf("%s, %s: %d; want %d", name, group, got, want)
			}
		}
	}
}
