package core_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/internal/require"
	"parley/internal/subtest"
)

// names are the events that were heard, by the names that the seeds give them; those of runs and messages aside.
func (d *eventLog) names() (all []string) {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.all {
		switch name := event.EventName(e); name {
		case "RUN_STARTED", "RUN_ENDED", "MESSAGE_RECEIVED", "MESSAGE_SENT", "MODEL_USED":
		default:
			all = append(all, name)
		}
	}
	d.all = nil
	return all
}

func (w *harness) recordEvents() *eventLog {
	d := &eventLog{}
	w.cfg.Observers = append(w.cfg.Observers, d)
	return d
}

func (w *harness) wantEvents(d *eventLog, want ...string) {
	w.Helper()
	if got := d.names(); !slices.Equal(got, want) {
		w.Errorf("heard %q; want %q", got, want)
	}
}

// People and worlds are known from what they write. What is known already is no news.
func TestMeetWhoWrites(t *testing.T) {
	withHarness(t, func(w *harness) {
		d := w.recordEvents()
		n := w.start()
		say := func(author chat.EntityID, name, world string) {
			m := w.message(group, author, "Hello")
			m.Name, m.Place.World, m.WorldName = name, "fake/w", world
			n.send(m)
		}
		say("ada", "Ada", "The world")
		w.wantEvents(d, "WORLD_JOINED", "ENTITY_JOINED")
		say("ada", "Ada", "")
		w.wantEvents(d)
		say("ada", "Addy", "The world")
		w.wantEvents(d, "ENTITY_UPDATED")
		say("bob", "Bob", "The world")
		w.wantEvents(d, "ENTITY_JOINED")
		n.sendText("Hello in private")
		w.wantEvents(d, "ENTITY_UPDATED") // there she is called ada
		ada := require.Value(w.Store.Entity(w.Context(), "ada"))(w)
		if !slices.Equal(ada.Names, []string{"Ada", "Addy", "ada"}) || ada.Connector != "fake" || ada.Bot {
			w.Errorf("ada is %+v", ada)
		}
		if bob, err := w.Store.Entity(w.Context(), "bob"); err != nil || !slices.Equal(bob.Names, []string{"Bob"}) {
			w.Errorf("bob is %+v, %v", bob, err)
		}
		if got, err := w.Store.World(w.Context(), "fake/w"); err != nil || got.Name != "The world" {
			w.Errorf("the world is %+v, %v", got, err)
		}
	})
}

// Who joins and leaves is heard of once, and remembered.
func TestJoinedAndLeft(t *testing.T) {
	withHarness(t, func(w *harness) {
		d := w.recordEvents()
		n := w.start()
		fake := chat.World{ID: "fake/w", Connector: "fake", Name: "W"}
		ada := chat.Entity{ID: "ada", Connector: "fake", Names: []string{"Ada"}}
		for _, c := range []struct {
			in   chat.Inbound
			want []string
		}{
			{chat.Left{World: "fake/w", Entity: "ada"}, nil},
			{chat.Left{World: "fake/w"}, nil},
			{chat.Left{Room: group}, nil},
			{chat.Joined{World: fake}, []string{"WORLD_JOINED"}},
			{chat.Joined{World: fake}, []string{"WORLD_CONNECTED"}},
			{chat.Joined{World: fake, Entity: ada, Role: "admin"}, []string{"ENTITY_JOINED"}},
			{chat.Joined{World: fake, Entity: ada, Role: "admin"}, nil},
			{chat.Joined{World: fake, Entity: ada, Role: "owner"}, []string{"ENTITY_UPDATED"}},
			{chat.Left{World: "fake/w", Entity: "ada"}, []string{"ENTITY_LEFT"}},
			{chat.Left{World: "fake/w", Entity: "ada"}, nil},
			{chat.Joined{World: fake, Entity: ada}, []string{"ENTITY_JOINED"}},
			{chat.Joined{World: fake, Entity: chat.Entity{ID: agent}}, nil},
			{chat.Left{World: "fake/w"}, []string{"WORLD_LEFT"}},
			{chat.Left{World: "fake/w"}, nil},
			{chat.Joined{World: fake}, []string{"WORLD_JOINED"}},
			{chat.Joined{Room: chat.Room{ID: group, Kind: chat.Group, Connector: "fake"}}, []string{"ROOM_JOINED"}},
			{chat.Joined{Room: chat.Room{ID: group, Kind: chat.Group, Connector: "fake"}}, nil},
			{chat.Left{Room: group}, []string{"ROOM_LEFT"}},
			{chat.Left{Room: group}, nil},
			{chat.Joined{Room: chat.Room{ID: group, Kind: chat.Group, Connector: "fake"}}, []string{"ROOM_JOINED"}},
		} {
			n.deliver(c.in)
			if got := d.names(); !slices.Equal(got, c.want) {
				w.Errorf("%+v: heard %q; want %q", c.in, got, c.want)
			}
		}
		members := require.Value(w.Store.Members(w.Context(), "fake/w", "", 10))(w)
		if want := (chat.Member{World: "fake/w", Entity: "ada", Role: "owner"}); !slices.Equal(members, []chat.Member{want}) {
			w.Errorf("the members are %+v", members)
		}
	})
}

// Where the agent is no more, its runs end; elsewhere it answers. When it comes back it answers again.
func TestRunsEndWhereTheAgentIsNoMore(t *testing.T) {
	for name, gone := range map[string]chat.Left{"the room": {Room: group}, "the world": {World: "fake/w"}} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			n := w.start()
			w.model.queue([]step{write(fox), pause(time.Hour)})
			say := func(text string) chat.Accepted {
				m := w.message(group, "ada", text)
				m.Addressed, m.Place.World = true, "fake/w"
				return n.send(m)
			}
			first, waits := say("Hello"), say("And?")
			time.Sleep(time.Second)
			n.deliver(gone)
			w.wantAnswer(first, answer.Stopped, "")
			w.wantAnswer(waits, answer.Stopped, "")
			w.wantAnswer(n.sendText("Hello"), answer.Completed, "You said: Hello")
			w.wantAnswer(say("Back"), answer.Completed, "You said: ada: Back")
			if r, err := w.Store.Room(w.Context(), group); err != nil || r.Gone {
				w.Errorf("the room is %+v, %v", r, err)
			}
		}))
	}
}

// What happens to messages is heard of, once, with what it was about.
func TestEventsOfChanges(t *testing.T) {
	withHarness(t, func(w *harness) {
		d := w.recordEvents()
		n := w.start()
		m := w.message(room, "ada", "Hello")
		w.waitAnswer(n.send(m))
		d.names()
		r := chat.Reaction{Room: room, Author: "ada", Name: "Ada", On: m.ID, Emoji: "👍", Added: true, At: time.Now()}
		n.deliver(r)
		n.deliver(r)
		synctest.Wait()
		if len(d.all) != 1 || d.all[0].(event.ReactionReceived).Reaction != r {
			w.Errorf("heard %+v", d.all)
		}
		d.names()
		n.deliver(chat.Deleted{Room: room, ID: "unknown"})
		n.remove(m)
		w.chat.forgetSeen() // there was an answer; it is forgotten with its question
		n.deliver(chat.Deleted{Room: room, ID: m.ID})
		synctest.Wait()
		if len(d.all) != 1 || d.all[0].(event.MessageDeleted).Message.Text != "Hello" {
			w.Errorf("heard %+v", d.all)
		}
		d.names()
		for i := range 3 {
			n.deliver(chat.Reaction{Room: room, Author: "ada", On: m.ID, Emoji: fmt.Sprint(i), Added: true, At: time.Now()})
		}
		synctest.Wait()
		d.names()
		n.deliver(chat.Cleared{Room: room})
		synctest.Wait()
		if len(d.all) != 1 || d.all[0] != (event.ChannelCleared{Room: room, Deleted: 4, Total: 4}) {
			w.Errorf("heard %+v", d.all)
		}
	})
}
