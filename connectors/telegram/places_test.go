package telegram

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/connectors"
	"parley/connectors/connectortest"
	"parley/connectors/telegram/telegramfake"
	"parley/core/chat"
	"parley/internal/lang"
	"parley/internal/require"
)

func (r *botHarness) gets(want ...chat.Inbound) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.Drain(), cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0), cmpopts.IgnoreFields(chat.Joined{}, "Added", "Note")); diff != "" {
		r.t.Errorf("handed over (-want +got):\n%s", diff)
	}
}

// Who comes and goes, the bot itself included, and what that means for a room.
func TestComesAndGoes(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		conv, club := r.AddPrivate(ada), r.AddGroup("Club")
		r.run(r.bot)
		who := chat.Entity{ID: entity(ada.ID), Connector: "telegram", Names: []string{"Ada"}}
		room := r.bot.account.room(club.ID, 0)
		world := chat.World{ID: chat.WorldID(room), Connector: "telegram", Name: "Club"}
		r.JoinBot(club, ada)
		r.gets(chat.Joined{World: world, Room: chat.Room{
			ID: room, World: world.ID, Kind: chat.Group, Connector: "telegram", Name: "Club", Chats: chats(club.ID, club.ID),
			Address: chat.Address{Connector: "telegram", Room: room, ConnectorData: address{Chat: club.ID, Kind: group}.encode()},
		}})
		r.Enter(club, ada)
		r.gets(chat.Joined{World: world, Entity: who})
		r.Promote(club, ada)
		r.gets(chat.Joined{World: world, Entity: who, Role: "administrator"})
		r.Leave(club, ada)
		r.gets(chat.Left{World: world.ID, Entity: who.ID})
		r.Enter(club, r.Bot())
		r.gets() // the other update tells that
		r.Kick(club, ada)
		r.gets(chat.Left{World: world.ID})
		direct := r.bot.account.room(conv.ID, 0)
		r.Block(ada)
		r.gets(chat.Left{Room: direct})
		r.Unblock(ada)
		r.gets(chat.Joined{Room: chat.Room{ID: direct, Kind: chat.Direct, Connector: "telegram", Name: "Ada", Chats: chats(conv.ID, conv.ID)}})
	})
}

// What was not taken comes again, in order with what follows.
func TestMembershipComesAgain(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		club := r.AddGroup("Club")
		refused := 0
		r.Refuse(func(chat.Inbound) error {
			if refused++; refused < 3 {
				return errDown
			}
			return nil
		})
		r.run(r.bot)
		r.Kick(club, ada)
		r.JoinBot(club, ada)
		wait(pollTime)
		got := r.Drain()
		if len(got) != 2 {
			t.Fatalf("handed over %+v; want 2", got)
		}
		if _, ok := got[0].(chat.Left); !ok {
			t.Errorf("first came %+v", got[0])
		}
	})
}

// Each added or removed emoji is one reaction. The bot's own and anonymous reactions are ignored.
func TestReactions(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		conv := r.AddPrivate(ada)
		r.run(r.bot)
		m := r.Say(conv, ada, "hello")
		r.Drain()
		reaction := func(emoji string, added bool) chat.Reaction {
			return chat.Reaction{Room: r.bot.account.room(conv.ID, 0), Author: entity(ada.ID), Name: "Ada",
				On: r.bot.account.memory(conv.ID, m.ID), Message: messageID(conv.ID, m.ID), AnyTopic: true, Emoji: emoji, Added: added}
		}
		events := map[string]bool{} // of updates, which have one or more reactions
		compare := func(want ...chat.Inbound) {
			t.Helper()
			all := r.Drain()
			for _, in := range all {
				if one := in.(chat.Reaction); one.Event == "" || events[one.Event] {
					t.Errorf("%+v is not told from the reactions of other updates", one)
				}
			}
			for _, in := range all {
				events[in.(chat.Reaction).Event] = true
			}
			if diff := cmp.Diff(want, all, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(chat.Reaction{}, "At", "Event")); diff != "" {
				t.Errorf("handed over (-want +got):\n%s", diff)
			}
		}
		r.React(m, ada, nil, []string{"👍"})
		compare(reaction("👍", true))
		r.React(m, ada, []string{"👍"}, []string{"👍", "🔥"})
		compare(reaction("🔥", true))
		r.React(m, ada, []string{"👍", "🔥"}, []string{"🎉"})
		compare(reaction("👍", false), reaction("🔥", false), reaction("🎉", true))
		r.React(m, ada, []string{"🎉"}, nil)
		compare(reaction("🎉", false))
		r.React(m, ada, nil, []string{"🎉"})
		compare(reaction("🎉", true))
		r.React(m, r.Bot(), nil, []string{"👍"})
		compare()
	})
}

// alone is a state that one gateway has for itself.
type alone struct{ connectors.StateStore }

// TR-24: where the new ids of groups can't be read, nothing is answered or saved as if there were none.
func TestMigrationsThatCantBeRead(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		book, down := &connectortest.Memory{}, errors.New("the disk is gone")
		r.bot.moves = newMoves(r.bot.account, alone{book})
		for name, kept := range map[string]string{"unreadable": "[]", "broken": ""} {
			book.Fail(nil)
			require.NoError(t, book.Keep(t.Context(), r.bot.moves.name, kept))
			if kept == "" {
				book.Fail(down)
			}
			if err := r.bot.moves.add(t.Context(), -1, -2); err == nil || r.bot.moves.now(-1) != -1 {
				t.Errorf("%s: a move is added: %v", name, err)
			}
			if _, err := r.bot.Open(t.Context(), chat.Address{ConnectorData: []byte(`{"chat":1,"kind":"private"}`)}); err == nil {
				t.Errorf("%s: a conversation opens", name)
			}
		}
		book.Fail(down)
		r.run(r.bot)
		r.Say(r.AddPrivate(ada), ada, "Hello")
		r.want()
		book.Fail(nil)
		require.NoError(t, book.Keep(t.Context(), r.bot.moves.name, `{"-1":-2}`))
		wait(pollTime)
		r.want("Hello")
		if got := r.bot.moves.now(-1); got != -2 {
			t.Errorf("the group is thought to be %d", got)
		}
	})
}

// TR-24, IN-15: a group that got a new id is the room that it was, also in the next process; what can't be kept is not
// confirmed.
func TestMigrationIsKept(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		club := r.AddGroup("Club")
		book := &connectortest.Memory{}
		another := func() *Telegram {
			bot := r.another()
			bot.moves = newMoves(bot.account, alone{book})
			return bot
		}
		stop := r.run(another())
		r.Say(club, ada, "before")
		room := r.last().Room
		book.Fail(errors.New("the disk is full"))
		moved := r.Migrate(club)
		r.Say(moved, ada, "after")
		wait(pollTime)
		r.want("before")
		book.Fail(nil)
		wait(pollTime)
		r.want("before", "after")
		if got := r.last(); got.Room != room || got.Place.World != chat.WorldID(room) {
			t.Errorf("the room became %s in %s", got.Room, got.Place.World)
		}
		require.NoError(t, stop())
		next := another()
		r.run(next)
		r.Say(moved, ada, "later")
		if got := r.last(); got.Room != room || got.Text != "later" {
			t.Errorf(`in the next process %q came in %s; want %s and "later"`, got.Text, got.Room, room)
		}
		s := require.Value(next.Open(t.Context(), chat.Address{ConnectorData: address{Chat: club.ID, Kind: group}.encode()}))(t)
		require.Value(s.Post(t.Context(), s.Render(view("hello"))[0], ""))(t)
		if got := r.final("sendMessage"); got.Chat != moved.ID || r.count("sendMessage") != 1 {
			t.Errorf("it was posted to %d, in %d requests; want %d and 1", got.Chat, r.count("sendMessage"), moved.ID)
		}
	}, telegramfake.WithReadAllGroupMessages())
}

// The owner of a business account who adds the bot reads one sentence in their language. Nothing is handed over.
func TestBusinessAccountIsRefused(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		r.run(r.bot)
		ada := r.AddUser("Ada", "ada")
		chat := r.AddPrivate(ada)
		r.ConnectBusiness(ada, chat, true)
		r.ConnectBusiness(ada, chat, false)
		wait(time.Second)
		if all := r.Messages(chat); len(all) != 1 || all[0].Text != lang.In("en").Say("turn.business") {
			t.Errorf("Ada reads %+v", all)
		}
		r.want()
	})
}

// Only messages get reactions, and only those of the chat: the cause of a run can be that the bot was added to a group.
func TestSignalIsForMessages(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		c, s := r.private()
		at := chat.Address{Connector: Name, ConnectorData: s.to.encode()}
		own := r.bot.account.memory(c.ID, s.to.Message)
		for _, ids := range [][]chat.MemoryID{
			{own}, nil, {r.bot.account.memory(c.ID+1, s.to.Message)}, {chat.MemoryID(fmt.Sprintf("%s/joined/1795704540", own))},
			{chat.MemoryID(fmt.Sprintf("%s/%d/%d/e1-5", Name, r.bot.account, c.ID))},
		} {
			_, show := r.bot.Signal(chat.Signal{To: at, Messages: ids, Is: chat.NoAccess})
			if want := len(ids) == 1 && ids[0] == own; (show != nil) != want {
				t.Errorf("%q has a signal: %t, want %t", ids, show != nil, want)
			}
		}
	})
}
