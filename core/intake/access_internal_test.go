package intake

import (
	"testing"

	"parley/core/access"
	"parley/core/chat"
)

func TestOverrideDecides(t *testing.T) {
	here := chat.Room{Kind: chat.Thread, Connector: "a", Chats: []string{"3", "2"}}
	there := chat.Room{Kind: chat.Group, Connector: "a", Chats: []string{"4"}}
	ad := &Admission{Policy: access.Policy{Overrides: []access.Override{{RoomSet: access.RoomSet{Chats: map[string]bool{"a:2": true}}, Group: access.GroupAmbient}}}}
	for name, c := range map[string]struct {
		in   chat.Room
		want access.Decision
	}{"a thread of an ambient room": {here, access.Maybe}, "elsewhere": {there, access.ContextOnly}} {
		m := chat.Message{Memory: chat.Memory{Text: "It rains."}, Place: c.in}
		if got := ad.decide(m, chat.Normal); got != c.want {
			t.Errorf("%s: %d; want %d", name, got, c.want)
		}
	}
}

// Every word of access with every other, in each kind of room and place, for friends and strangers, addressed or not.
func TestEveryWordOfAccess(t *testing.T) {
	for _, d := range []access.DirectAccess{"", access.DirectOpen, access.DirectAllowlist, access.DirectPairing, access.DirectOff} {
		for _, g := range []access.GroupAccess{"", access.GroupMentionOnly, access.GroupAmbient, access.GroupOff} {
			for _, listen := range []string{"", "a:1", "a:9", "b:1"} {
				ad := &Admission{Policy: access.Policy{Direct: d, Group: g, Allowed: access.Members{Accounts: map[chat.EntityID]bool{"ada": true}}}}
				if listen != "" {
					ad.Policy.Listen.Chats = map[string]bool{listen: true}
				}
				for _, kind := range []chat.RoomKind{chat.Direct, chat.Group, chat.VoiceGroup, chat.Thread} {
					for _, author := range []chat.EntityID{"ada", "eve"} {
						for _, addressed := range []bool{false, true} {
							m := chat.Message{Memory: chat.Memory{Text: "It rains."}, Place: chat.Room{Kind: kind, Connector: "a", Chats: []string{"2", "1"}}, Addressed: addressed}
							private, friend, listens := kind.Private(), author == "ada", listen == "" || listen == "a:1"
							want := access.No
							switch {
							case private && d == access.DirectOff, !private && (g == access.GroupOff || !listens):
							case !friend && !(private && d == access.DirectOpen):
								want = access.Maybe // if the owner lets them in
							case private, addressed:
								want = access.Yes
							case g == access.GroupAmbient:
								want = access.Maybe // if the model says so
							default:
								want = access.ContextOnly
							}
							got := ad.Policy.Decide(m.Place, author, nil)
							if got == access.Yes {
								got = ad.decide(m, chat.Normal)
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
