package access

import (
	"testing"

	"parley/core/chat"
)

// The rules in their order: an open connector, what is off, where the agent does not listen, and then anything that
// allows a user.
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
	ada := map[chat.EntityID]bool{"ada": true}
	friend := Members{Accounts: ada}
	role := Members{Roles: map[string]bool{"a:r": true}}
	for name, c := range map[string]struct {
		a     Policy
		in    chat.Room
		roles []string
		want  Decision
	}{
		"nothing is said, in private":            {Policy{}, private, nil, Maybe},
		"nothing is said, in a group":            {Policy{}, group, nil, Maybe},
		"an open connector, where all is off":    {Policy{Open: map[string]bool{"a": true}, Direct: DirectOff}, private, nil, Yes},
		"an open connector is not another":       {Policy{Open: map[string]bool{"b": true}}, private, nil, Maybe},
		"off, for a friend":                      {Policy{Allowed: friend, Direct: DirectOff}, private, nil, No},
		"off, for the owner":                     {Policy{Owners: ada, Group: GroupOff}, group, nil, No},
		"open direct chats":                      {Policy{Direct: DirectOpen}, private, nil, Yes},
		"open direct chats open no group":        {Policy{Direct: DirectOpen}, group, nil, Maybe},
		"pairing, for a stranger":                {Policy{Direct: DirectPairing}, private, nil, Maybe},
		"pairing, for a friend":                  {Policy{Direct: DirectPairing, Allowed: friend}, private, nil, Yes},
		"the owner":                              {Policy{Owners: ada}, group, nil, Yes},
		"a friend, the agent not listening":      {Policy{Allowed: friend, Listen: chats("a:9")}, group, nil, No},
		"a friend, the agent listening":          {Policy{Allowed: friend, Listen: chats("a:2")}, group, nil, Yes},
		"a friend in a thread of it":             {Policy{Allowed: friend, Listen: chats("a:2")}, thread, nil, Yes},
		"a friend beside a thread":               {Policy{Allowed: friend, Listen: chats("a:3")}, group, nil, No},
		"a friend in a world that is listened":   {Policy{Allowed: friend, Listen: world}, thread, nil, Yes},
		"the same number on another platform":    {Policy{Allowed: friend, Listen: chats("a:2")}, elsewhere, nil, No},
		"listening to groups, in private":        {Policy{Allowed: friend, Listen: chats("a:9")}, private, nil, Yes},
		"a role":                                 {Policy{Allowed: role}, group, []string{"q", "r"}, Yes},
		"another role":                           {Policy{Allowed: role}, group, []string{"q"}, Maybe},
		"a role of another platform":             {Policy{Allowed: role}, elsewhere, []string{"r"}, Maybe},
		"a role, the agent not listening":        {Policy{Allowed: role, Listen: chats("a:9")}, group, []string{"r"}, No},
		"everybody in a room":                    {Policy{Guests: chats("a:2")}, group, nil, Yes},
		"everybody in a thread of a room":        {Policy{Guests: chats("a:2")}, thread, nil, Yes},
		"everybody in a world":                   {Policy{Guests: world}, thread, nil, Yes},
		"everybody in another world":             {Policy{Guests: world}, elsewhere, nil, Maybe},
		"everybody in a room that is off":        {Policy{Guests: chats("a:2"), Overrides: []Override{{RoomSet: chats("a:2"), Group: GroupOff}}}, group, nil, No},
		"a friend in a world that is off":        {Policy{Allowed: friend, Overrides: []Override{{RoomSet: world, Group: GroupOff}}}, group, nil, No},
		"a room that is on in a world that is":   {Policy{Allowed: friend, Overrides: []Override{{RoomSet: world, Group: GroupOff}, {RoomSet: chats("a:2"), Group: GroupMentionOnly}}}, thread, nil, Yes},
		"a thread that is off in a room that is": {Policy{Allowed: friend, Overrides: []Override{{RoomSet: chats("a:2")}, {RoomSet: chats("a:3"), Group: GroupOff}}}, thread, nil, No},
		"a room that is on where all is off":     {Policy{Allowed: friend, Group: GroupOff, Overrides: []Override{{RoomSet: chats("a:2"), Group: GroupAmbient}}}, group, nil, Yes},
	} {
		if got := c.a.Decide(c.in, "ada", c.roles); got != c.want {
			t.Errorf("%s: %d; want %d", name, got, c.want)
		}
	}
}
