package core_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/connectortest"
	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/internal/require"
	"parley/internal/subtest"
)

// I13, IN-14, and who is answered where. What is refused or ignored costs no call of the model.
func TestWhoIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		in     chat.RoomID
		author chat.EntityID
		edit   func(*chat.Message)
		runs   bool
		calls  int
	}{
		"a friend in private":           {room, "ada", nil, true, 1},
		"a friend in a group":           {group, "ada", nil, false, 0},
		"a friend addressing the agent": {group, "ada", func(m *chat.Message) { m.Addressed = true }, true, 1},
		"a name in the text only":       {group, "ada", func(m *chat.Message) { m.Text = "@Agent Agent: hello" }, false, 0},
		"a stranger in a group":         {group, "eve", func(m *chat.Message) { m.Addressed = true }, false, 0},
		"a stranger in private":         {room, "eve", nil, true, 0},
		"a bot in private":              {room, "ada", func(m *chat.Message) { m.Bot = true }, false, 0},
		"a bot addressing the agent":    {group, "ada", func(m *chat.Message) { m.Bot, m.Addressed = true, true }, false, 0},
		"the agent itself":              {room, agent, nil, false, 0},
		"nothing but spaces":            {room, "ada", func(m *chat.Message) { m.Text = " \n" }, false, 0},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			n := w.start()
			m := w.message(c.in, c.author, "Hello")
			if c.edit != nil {
				c.edit(&m)
			}
			acc := n.send(m)
			time.Sleep(time.Minute)
			if runs := acc.Run != ""; runs != c.runs || len(w.model.requests()) != c.calls {
				w.Errorf("it has a run: %v; the model was asked %d times; want %v and %d", runs, len(w.model.requests()), c.runs, c.calls)
			}
			if acc.Run != "" {
				w.waitAnswer(acc)
			}
		}))
	}
}

// What people read is what access says, for each kind of room, author and message: every two words of it come together in one
// of the worlds. TestEveryWordOfAccess has them all.
func TestAccess(t *testing.T) {
	direct := []access.DirectAccess{"", access.DirectOpen, access.DirectAllowlist, access.DirectOff}
	groups := []access.GroupAccess{"", access.GroupMentionOnly, access.GroupAmbient, access.GroupOff}
	for i, g := range groups {
		for j, listen := range []string{"", "fake:here", "fake:there", "other:here"} {
			d := direct[(i+j)%len(direct)]
			t.Run(fmt.Sprintf("direct %q, group %q, listening to %q", d, g, listen), subtest.Of(withHarness, func(w *harness) {
				w.cfg.Access.Direct, w.cfg.Access.Group = d, g
				if listen != "" {
					w.cfg.Access.Listen.Chats = map[string]bool{listen: true}
				}
				w.model.respond = func(r llm.Request) []step { // it wants to answer everything
					if r.System == "" {
						return []step{write("RESPOND")}
					}
					return []step{write("You said: " + r.Messages[len(r.Messages)-1].Text)}
				}
				n := w.start()
				for _, friend := range []bool{true, false} {
					for _, addressed := range []bool{false, true} {
						want := inPrivate(d, friend)
						if got := n.reactionTo(room, friend, addressed); got != want {
							w.Errorf("in private, a friend %v, addressed %v: %s; want %s", friend, addressed, got, want)
						}
						want = inGroup(g, friend, addressed, listen == "" || listen == "fake:here")
						if got := n.reactionTo(group, friend, addressed); got != want {
							w.Errorf("in a group, a friend %v, addressed %v: %s; want %s", friend, addressed, got, want)
						}
					}
				}
			}))
		}
	}
}

// reaction is what becomes of a message.
type reaction string

const nothing, told, answered reaction = "nothing", "told no", "answered"

func inPrivate(d access.DirectAccess, friend bool) reaction {
	switch {
	case d == access.DirectOff:
		return nothing
	case d == access.DirectOpen || friend:
		return answered
	}
	return told
}

func inGroup(g access.GroupAccess, friend, addressed, listens bool) reaction {
	if g != access.GroupOff && friend && listens && (addressed || g == access.GroupAmbient) {
		return answered
	}
	return nothing
}

// reactionTo says what a friend or a stranger reads who writes something.
func (n *process) reactionTo(in chat.RoomID, friend, addressed bool) reaction {
	n.h.Helper()
	author := chat.EntityID("eve")
	if friend {
		author = "ada"
	}
	m := n.h.message(in, author, "Hello")
	if in == room { // each stranger's room is their own
		m.Room += chat.RoomID(fmt.Sprintf("/%s%d", author, n.h.messages))
		m.Place.ID, m.Address.Room = m.Room, m.Room
	}
	m.Addressed, m.Place.Chats = addressed, []string{"topic", "here"}
	acc := require.Value(n.ProcessMessage(n.h.Context(), m))(n.h)
	if acc.Run == "" {
		return nothing
	}
	if _, said := n.h.waitAnswer(acc); !strings.HasPrefix(said, "You said: ") {
		return told
	}
	return answered
}

// A group is remembered: what people with access said without addressing the agent is part of the next prompt, with names.
func TestGroupIsRemembered(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Access.Allowed.Accounts["eve"] = true
		n := w.start()
		n.send(w.message(group, "eve", "It rains."))
		m := w.message(group, "ada", "Is it so?")
		m.Addressed = true
		acc := n.send(m)
		n.send(w.message(group, "eve", "Later."))
		w.wantAnswer(acc, answer.Completed, "You said: ada: Is it so?")
		if got := w.model.requests()[0].texts(); !slices.Equal(got, []string{"eve: It rains.", "ada: Is it so?"}) {
			w.Errorf("the prompt holds %q", got)
		}
	})
}

// A stranger hears one polite line, once, however much is written, and with it no promise of more.
func TestStranger(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		first := n.send(w.message(room, "eve", "Hello"))
		o, said := w.waitAnswer(first)
		if o.Status != answer.Completed || !strings.HasPrefix(said, "Sorry, ") {
			w.Errorf(`a stranger is told %q (%s); want %s and it to begin with "Sorry, "`, said, o.Status, answer.Completed)
		}
		for range 40 {
			w.wantAnswer(n.send(w.message(room, "eve", "Hello?")), answer.Ignored, "")
		}
		synctest.Wait()
		w.wantVisible(said)
		w.wantModelCalls(0)
	})
}

// A stranger stops no user's answer; those who may ask may.
func TestStopIsForTheInvited(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.model.queue([]step{write("An answer that takes its time. "), pause(time.Minute), write("The end.")})
		m := w.message(group, "ada", "Tell me")
		m.Addressed = true
		acc := n.send(m)
		time.Sleep(time.Second)
		for _, author := range []chat.EntityID{"eve", ""} {
			if _, err := n.ProcessMessage(w.Context(), chat.Command{Room: group, Author: author, Name: chat.Stop}); err != nil {
				w.Error(err)
			}
		}
		w.wantAnswer(acc, answer.Completed, "An answer that takes its time. The end.")
	})
}

// A role of the staff gives its rights where it is shown, and a blocked role is not answered.
func TestRolesOfStaff(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Memo = &connectortest.Memory{}
		w.cfg.Access.Allowed.Roles, w.cfg.Access.Staff.Roles = map[string]bool{"fake:friend": true}, map[string]bool{"fake:helper": true}
		w.cfg.Access.Blocked.Roles = map[string]bool{"fake:banned": true}
		var staff []bool
		w.addActions(&fakeAction{name: "LOOK", do: func(_ context.Context, c *action.Call) (action.Result, error) {
			staff = append(staff, c.Turn.Staff)
			return action.Result{}, nil
		}})
		n := w.start()
		says := func(text string, roles ...string) chat.Accepted {
			m := w.message(group, "fake/bob", text)
			m.Addressed, m.Roles = true, roles
			return n.send(m)
		}
		for _, role := range []string{"friend", "helper"} {
			w.model.queue([]step{call(0, "a", "LOOK", "{}")}, []step{write("Well.")})
			w.wantAnswer(says("Look", role), answer.Completed, "Well.")
		}
		if !slices.Equal(staff, []bool{false, true}) {
			t.Errorf("staff: %v", staff)
		}
		w.wantAnswer(says("/block fake:eve", "friend"), answer.Completed, "Only my owner and their staff can block users.")
		w.wantAnswer(says("/block fake:eve", "helper"), answer.Completed, "**fake:eve** is blocked. I don't answer them any more, and store nothing they write. `/unblock fake:eve` ends that.")
		m := w.message(group, "fake/eve", "Hello")
		if acc := n.send(m); !acc.Blocked {
			t.Errorf("a blocked user: %+v", acc)
		}
		if acc := says("Hello", "helper", "banned"); !acc.Blocked {
			t.Errorf("a blocked role: %+v", acc)
		}
	})
}

// A block of the account of one conversation counts for the visitor, too.
func TestBlockOfAVisitor(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Memo = &connectortest.Memory{}
		w.cfg.Access.Owners = map[chat.EntityID]bool{"ada": true}
		w.cfg.Visitor = func(_ context.Context, account chat.EntityID) (chat.EntityID, error) {
			return map[chat.EntityID]chat.EntityID{"fake/chat1": "fake/visitor"}[account], nil
		}
		n := w.start()
		w.waitAnswer(n.send(w.message(room, "ada", "/block fake:chat1")))
		if acc := n.send(w.message("fake/chat2", "fake/visitor", "Hello")); !acc.Blocked {
			t.Errorf("the visitor is answered in another conversation: %+v", acc)
		}
		w.waitAnswer(n.send(w.message(room, "ada", "/unblock fake:chat1")))
		if all, err := n.Blocks(t.Context()); err != nil || len(all) > 0 {
			t.Errorf("after /unblock these are blocked: %v, %v", all, err)
		}
	})
}

// Messages of several users wait for one answer. Those of a user who is blocked meanwhile are not answered, wherever they are among the
// others, and take no rights from the others.
func TestBlockOfOneAuthorAmongSeveral(t *testing.T) {
	for _, authors := range [][]chat.EntityID{{"ada", "eve"}, {"eve", "ada"}, {"eve", "ada", "eve"}, {"eve"}} {
		t.Run(fmt.Sprint(authors), subtest.Of(withHarness, func(w *harness) {
			w.cfg.Memo, w.cfg.Turns.Group = &connectortest.Memory{}, schedule.Collect
			w.cfg.Access.Owners, w.cfg.Access.Allowed.Accounts = map[chat.EntityID]bool{"ada": true}, map[chat.EntityID]bool{"eve": true, "bob": true}
			var owner []bool
			w.addActions(&fakeAction{name: "LOOK", do: func(_ context.Context, c *action.Call) (action.Result, error) {
				owner = append(owner, c.Turn.Owner)
				return action.Result{}, nil
			}})
			n := w.start()
			w.model.queue([]step{pause(time.Minute), write("First.")}, []step{call(0, "a", "LOOK", "{}")}, []step{write("Second.")})
			first := n.send(w.groupMention("bob", "Wait"))
			var mixed chat.Accepted
			for i, author := range authors {
				time.Sleep(time.Second)
				mixed = n.send(w.groupMention(author, fmt.Sprint(author, "'s ", i)))
			}
			if got := w.run(mixed).Inputs; len(got) != len(authors) {
				w.Fatalf("the waiting run has the inputs %q", got)
			}
			w.Must(n.SetBlocked(w.Context(), "eve", "ada", true))
			w.wantAnswer(first, answer.Completed, "First.")
			if len(authors) == 1 {
				w.waitAnswer(mixed)
				w.wantModelCalls(1)
				return
			}
			w.wantAnswer(mixed, answer.Completed, "Second.")
			asked := fmt.Sprint(w.model.requests()[1].texts())
			if strings.Contains(asked, "eve's") || !strings.Contains(asked, "ada's") || !slices.Equal(owner, []bool{true}) {
				w.Errorf("the model was asked %q with the rights of the owner: %v", asked, owner)
			}
		}))
	}
}

// Platforms show roles only in their servers. Elsewhere a role of the staff counts as well, until it is gone or has not been seen for
// twelve hours; a blocked account loses it.
func TestRolesOfStaffElsewhere(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Memo = &connectortest.Memory{}
		w.cfg.Access.Direct = access.DirectPairing
		w.cfg.Access.Staff.Roles = map[string]bool{"fake:helper": true}
		w.cfg.Access.Allowed.Roles = map[string]bool{"fake:visitor": true}
		n := w.start()
		in := func(world chat.WorldID, roles ...string) {
			m := w.message(group, "fake/bob", "Look")
			m.Addressed, m.Roles, m.Place.World = true, roles, world
			w.waitAnswer(n.send(m))
		}
		isStaff := func(when string, want bool) {
			t.Helper()
			is := require.Value(n.IsStaff(t.Context(), "fake/bob"))(w)
			acc := n.send(w.message("fake/dm-bob", "fake/bob", "/block fake:eve"))
			answers := false
			if acc.Run != "" {
				_, said := w.waitAnswer(acc)
				answers = strings.Contains(said, "fake:eve** is blocked")
			}
			if is != want || answers != want {
				t.Errorf("%s bob is staff: %v, can block in a direct chat: %v; want %v", when, is, answers, want)
			}
		}
		isStaff("before", false)
		in("fake/one", "visitor", "helper")
		isStaff("with the role", true)
		in("fake/two", "visitor")
		isStaff("after a message in another server", true)
		in("fake/one", "visitor")
		isStaff("without the role", false)
		in("fake/one", "helper")
		time.Sleep(12*time.Hour - time.Minute)
		isStaff("after half a day", true)
		time.Sleep(2 * time.Minute)
		isStaff("after more than half a day", false)
	})
}

// An open connector looks after its people itself.
func TestOpenConnector(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Access.Direct = access.DirectOff // which is about others
		w.cfg.Access.Open = map[string]bool{"fake": true}
		n := w.start()
		w.wantAnswer(n.send(w.message(room, "anybody", "Hello")), answer.Completed, "You said: Hello")
	})
}

// A role invites where it is shown; a stop needs an invitation too.
func TestRoles(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Access.Allowed.Roles = map[string]bool{"fake:helper": true}
		n := w.start()
		ask := func(roles ...string) chat.Accepted {
			m := w.message(group, "bob", "Tell me")
			m.Addressed, m.Roles = true, roles
			return n.send(m)
		}
		if acc := ask("visitor"); acc.Run != "" {
			t.Errorf("a visitor is answered in %s; want none", acc.Run)
		}
		w.model.queue([]step{write("An answer that takes its time. "), pause(time.Minute), write("The end.")})
		acc := ask("visitor", "helper")
		time.Sleep(time.Second)
		for _, roles := range [][]string{{"visitor"}, {"helper"}} {
			require.Value(n.ProcessMessage(w.Context(), chat.Command{Room: group, Author: "bob", Roles: roles, Name: chat.Stop}))(w)
			synctest.Wait()
			if o := w.run(acc).Outcome; o.Done() != (roles[0] == "helper") {
				t.Errorf("after a stop by a %s: %+v", roles[0], o)
			}
		}
	})
}

// A place may have instructions of its own, and fewer actions.
func TestOverrides(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Plugins = []action.Plugin{{Name: "test", Actions: []action.Action{&fakeAction{name: "ROLL"}, &fakeAction{name: "DRAW"}}}}
		w.cfg.Access.Overrides = []access.Override{{
			RoomSet: access.RoomSet{Chats: map[string]bool{"fake:here": true}}, System: "Be kind.", Tools: []string{"DRAW"},
		}}
		n := w.start()
		for conv, want := range map[string]string{"there": "Be brief. [ROLL DRAW]", "here": "Be kind. [DRAW]"} {
			m := w.message(chat.RoomID("fake/"+conv), "ada", "Hello")
			m.Place.Chats = []string{"topic", conv}
			w.model.queue([]step{call(0, "1", "ROLL", "{}")}, []step{write("Done.")})
			w.waitAnswer(n.send(m))
			asked := w.model.requests()
			got := asked[len(asked)-2]
			var names []string
			for _, tool := range got.Tools {
				names = append(names, tool.Name)
			}
			if s := fmt.Sprint(strings.SplitN(got.System, "\n", 2)[0], " ", names); s != want {
				t.Errorf("%s: %s; want %s", conv, s, want)
			}
			refused := strings.Contains(fmt.Sprint(asked[len(asked)-1].Messages), "no action")
			if refused != (conv == "here") {
				t.Errorf("%s: the model is told %v", conv, asked[len(asked)-1].Messages)
			}
		}
	})
}
