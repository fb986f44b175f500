package core

import (
	"testing"

	"parley/core/chat"
)

// Who may come in, in the order in which the rules count: an open connector, what is off, where nobody listens, and then
// anything that invites.
func TestInvitedInOrder(t *testing.T) {
	private := chat.Room{Kind: chat.Direct, Connector: "a", Chats: []string{"1"}}
	group := chat.Room{Kind: chat.Group, Connector: "a", World: "a/w", Chats: []string{"2"}}
	thread := chat.Room{Kind: chat.Thread, Connector: "a", World: "a/w", Chats: []string{"3", "2"}}
	elsewhere := chat.Room{Kind: chat.Group, Connector: "b", World: "b/w", Chats: []string{"2"}}
	chats := func(ids ...string) RoomSet {
		p := RoomSet{Chats: map[string]bool{}}
		for _, id := range ids {
			p.Chats[id] = true
		}
		return p
	}
	world := RoomSet{Worlds: map[chat.WorldID]bool{"a/w": true}}
	friend := map[chat.EntityID]bool{"ada": true}
	role := map[string]bool{"a:r": true}
	for name, c := range map[string]struct {
		a     Access
		in    chat.Room
		roles []string
		want  decision
	}{
		"nothing is said, in private":            {Access{}, private, nil, maybe},
		"nothing is said, in a group":            {Access{}, group, nil, maybe},
		"an open connector, where all is off":    {Access{Open: map[string]bool{"a": true}, Direct: DirectOff}, private, nil, yes},
		"an open connector is not another":       {Access{Open: map[string]bool{"b": true}}, private, nil, maybe},
		"off, for a friend":                      {Access{People: friend, Direct: DirectOff}, private, nil, no},
		"off, for the owner":                     {Access{Owners: friend, Group: GroupOff}, group, nil, no},
		"open direct chats":                      {Access{Direct: DirectOpen}, private, nil, yes},
		"open direct chats open no group":        {Access{Direct: DirectOpen}, group, nil, maybe},
		"pairing, for a stranger":                {Access{Direct: DirectPairing}, private, nil, maybe},
		"pairing, for a friend":                  {Access{Direct: DirectPairing, People: friend}, private, nil, yes},
		"the owner":                              {Access{Owners: friend}, group, nil, yes},
		"a friend where nobody listens":          {Access{People: friend, Listen: chats("a:9")}, group, nil, no},
		"a friend where somebody listens":        {Access{People: friend, Listen: chats("a:2")}, group, nil, yes},
		"a friend in a thread of it":             {Access{People: friend, Listen: chats("a:2")}, thread, nil, yes},
		"a friend beside a thread":               {Access{People: friend, Listen: chats("a:3")}, group, nil, no},
		"a friend in a world that is listened":   {Access{People: friend, Listen: world}, thread, nil, yes},
		"the same number on another platform":    {Access{People: friend, Listen: chats("a:2")}, elsewhere, nil, no},
		"listening to groups, in private":        {Access{People: friend, Listen: chats("a:9")}, private, nil, yes},
		"a role":                                 {Access{Roles: role}, group, []string{"q", "r"}, yes},
		"another role":                           {Access{Roles: role}, group, []string{"q"}, maybe},
		"a role of another platform":             {Access{Roles: role}, elsewhere, []string{"r"}, maybe},
		"a role where nobody listens":            {Access{Roles: role, Listen: chats("a:9")}, group, []string{"r"}, no},
		"everybody in a room":                    {Access{Guests: chats("a:2")}, group, nil, yes},
		"everybody in a thread of a room":        {Access{Guests: chats("a:2")}, thread, nil, yes},
		"everybody in a world":                   {Access{Guests: world}, thread, nil, yes},
		"everybody in another world":             {Access{Guests: world}, elsewhere, nil, maybe},
		"everybody in a room that is off":        {Access{Guests: chats("a:2"), Overrides: []Override{{RoomSet: chats("a:2"), Group: GroupOff}}}, group, nil, no},
		"a friend in a world that is off":        {Access{People: friend, Overrides: []Override{{RoomSet: world, Group: GroupOff}}}, group, nil, no},
		"a room that is on in a world that is":   {Access{People: friend, Overrides: []Override{{RoomSet: world, Group: GroupOff}, {RoomSet: chats("a:2"), Group: GroupMentionOnly}}}, thread, nil, yes},
		"a thread that is off in a room that is": {Access{People: friend, Overrides: []Override{{RoomSet: chats("a:2")}, {RoomSet: chats("a:3"), Group: GroupOff}}}, thread, nil, no},
		"a room that is on where all is off":     {Access{People: friend, Group: GroupOff, Overrides: []Override{{RoomSet: chats("a:2"), Group: GroupAmbient}}}, group, nil, yes},
	} {
		if got := c.a.invited(c.in, "ada", c.roles); got != c.want {
			t.Errorf("%s: %d; want %d", name, got, c.want)
		}
	}
}

func TestOverrideDecides(t *testing.T) {
	here := chat.Room{Kind: chat.Thread, Connector: "a", Chats: []string{"3", "2"}}
	there := chat.Room{Kind: chat.Group, Connector: "a", Chats: []string{"4"}}
	cfg := Config{Access: Access{Overrides: []Override{{RoomSet: RoomSet{Chats: map[string]bool{"a:2": true}}, Group: GroupAmbient}}}}
	for name, c := range map[string]struct {
		in   chat.Room
		want decision
	}{"a thread of an ambient room": {here, maybe}, "elsewhere": {there, contextOnly}} {
		m := chat.Message{Memory: chat.Memory{Text: "It rains."}, Place: c.in}
		if got := cfg.decide(m, chat.Normal); got != c.want {
			t.Errorf("%s: %d; want %d", name, got, c.want)
		}
	}
}

// Every word of access with every other, in each kind of room and place, for friends and strangers, addressed or not.
func TestEveryWordOfAccess(t *testing.T) {
	for _, d := range []DirectAccess{"", DirectOpen, DirectAllowlist, DirectPairing, DirectOff} {
		for _, g := range []GroupAccess{"", GroupMentionOnly, GroupAmbient, GroupOff} {
			for _, listen := range []string{"", "a:1", "a:9", "b:1"} {
				cfg := Config{Access: Access{Direct: d, Group: g, People: map[chat.EntityID]bool{"ada": true}}}
				if listen != "" {
					cfg.Access.Listen.Chats = map[string]bool{listen: true}
				}
				for _, kind := range []chat.RoomKind{chat.Direct, chat.VoiceDirect, chat.Group, chat.VoiceGroup, chat.Thread} {
					for _, author := range []chat.EntityID{"ada", "eve"} {
						for _, addressed := range []bool{false, true} {
							m := chat.Message{Memory: chat.Memory{Text: "It rains."}, Place: chat.Room{Kind: kind, Connector: "a", Chats: []string{"2", "1"}}, Addressed: addressed}
							private, friend, listens := kind.Private(), author == "ada", listen == "" || listen == "a:1"
							want := no
							switch {
							case private && d == DirectOff, !private && (g == GroupOff || !listens):
							case !friend && !(private && d == DirectOpen):
								want = maybe // if the owner lets them in
							case private, addressed:
								want = yes
							case g == GroupAmbient:
								want = maybe // if the model says so
							default:
								want = contextOnly
							}
							got := cfg.Access.invited(m.Place, author, nil)
							if got == yes {
								got = cfg.decide(m, chat.Normal)
							}
							if got != want {
								t.Errorf("direct %q, group %q, listening to %q: %s in %s, addressed %v: %d; want %d", d, g, listen, author, kind, addressed, got, want)
							}
						}
					}
				}
			}
		}
	}
}
