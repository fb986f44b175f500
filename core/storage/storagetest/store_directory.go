package storagetest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"parley/core/chat"
	"parley/core/storage"
	"parley/internal/require"
)

func directoryChecks() []storeCheck {
	return []storeCheck{
		{"a person is found by all their names", meetNames},
		{"details of a person are kept", meetDetails},
		{"the names of a person are bounded", meetManyNames},
		{"a world keeps its name", worldNames},
		{"members join and leave", memberships},
		{"members are read in pages", memberPages},
		{"a world lists its rooms", worldRooms},
		{"a deleted room returns with its next message", roomGone},
	}
}

func (s store) meets(e chat.Entity, want chat.News) {
	s.t.Helper()
	news := require.Value(s.SaveEntity(s.t.Context(), e))(s.t)
	s.same("the news of "+string(e.ID), news, want)
}

func meetNames(t *testing.T, s store) {
	_, err := s.Entity(t.Context(), "ada")
	s.fails(err, chat.ErrNotFound)
	ada := func(names ...string) chat.Entity { return chat.Entity{ID: "ada", Connector: "fake", Names: names} }
	s.meets(ada("Ada"), chat.Came)
	s.meets(ada("Ada"), chat.Nothing)
	s.meets(ada(), chat.Nothing)
	s.meets(ada("Addy"), chat.Changed)
	s.meets(ada("Ada"), chat.Nothing)
	got, err := s.Entity(t.Context(), "ada")
	s.must(err)
	s.same("ada", got, ada("Ada", "Addy"))
	bot := ada()
	bot.Bot = true
	s.meets(bot, chat.Changed)
	got, err = s.Entity(t.Context(), "ada")
	s.must(err)
	s.same("the bot mark", got.Bot, true)
	_, err = s.SaveEntity(t.Context(), chat.Entity{ID: "bob", Names: []string{"\xff"}})
	if err == nil {
		t.Error("an invalid name was stored; want an error")
	}
}

func meetDetails(t *testing.T, s store) {
	ada := chat.Entity{ID: "ada", Connector: "fake"}
	with := func(details map[string]string) chat.Entity {
		e := ada
		e.Details = details
		return e
	}
	s.meets(with(map[string]string{"language": "French", "name": ""}), chat.Came)
	s.meets(ada, chat.Nothing)
	s.meets(with(map[string]string{"language": "French"}), chat.Nothing)
	s.meets(with(map[string]string{"language": "", "name": "Addy"}), chat.Changed)
	got := require.Value(s.Entity(t.Context(), "ada"))(s.t)
	s.same("ada", got, with(map[string]string{"name": "Addy"}))
	if _, err := s.SaveEntity(t.Context(), with(map[string]string{"name": "\xff"})); err == nil {
		t.Error("an invalid detail was stored; want an error")
	}
}

func meetManyNames(t *testing.T, s store) {
	var want []string
	for i := range chat.MaxNames + 3 {
		want = append(want, fmt.Sprint("name ", i))
		require.Value(s.SaveEntity(t.Context(), chat.Entity{ID: "ada", Names: want[i:]}))(s.t)
	}
	got := require.Value(s.Entity(t.Context(), "ada"))(s.t)
	s.same("the names", got.Names, want[3:])
}

func worldNames(t *testing.T, s store) {
	_, err := s.World(t.Context(), "w")
	s.fails(err, chat.ErrNotFound)
	for _, c := range []struct {
		save, want chat.World
		news       chat.News
	}{
		{chat.World{ID: "w", Connector: "fake", Gone: true}, chat.World{}, chat.Nothing}, // it never was
		{chat.World{ID: "w", Connector: "fake"}, chat.World{ID: "w", Connector: "fake"}, chat.Came},
		{chat.World{ID: "w", Connector: "fake", Name: "W"}, chat.World{ID: "w", Connector: "fake", Name: "W"}, chat.Changed},
		{chat.World{ID: "w", Connector: "fake"}, chat.World{ID: "w", Connector: "fake", Name: "W"}, chat.Nothing},
		{chat.World{ID: "w", Connector: "fake", Gone: true}, chat.World{ID: "w", Connector: "fake", Name: "W", Gone: true}, chat.Went},
		{chat.World{ID: "w", Connector: "fake", Gone: true}, chat.World{ID: "w", Connector: "fake", Name: "W", Gone: true}, chat.Nothing},
		{chat.World{ID: "w", Connector: "fake", Name: "V"}, chat.World{ID: "w", Connector: "fake", Name: "V"}, chat.Came},
	} {
		news := require.Value(s.SaveWorld(t.Context(), c.save))(s.t)
		s.same("the news", news, c.news)
		if c.want.ID == "" {
			continue
		}
		got := require.Value(s.World(t.Context(), "w"))(s.t)
		s.same("the world", got, c.want)
	}
}

func memberships(t *testing.T, s store) {
	for _, c := range []struct {
		save chat.Member
		want chat.News
	}{
		{chat.Member{World: "w", Entity: "ada", Gone: true}, chat.Nothing},
		{chat.Member{World: "w", Entity: "ada", Role: "owner"}, chat.Came},
		{chat.Member{World: "w", Entity: "ada"}, chat.Nothing},
		{chat.Member{World: "w", Entity: "ada", Role: "admin"}, chat.Changed},
		{chat.Member{World: "v", Entity: "ada"}, chat.Came},
		{chat.Member{World: "w", Entity: "ada", Gone: true}, chat.Went},
		{chat.Member{World: "w", Entity: "bob"}, chat.Came},
	} {
		news := require.Value(s.SaveMember(t.Context(), c.save))(s.t)
		s.same(fmt.Sprintf("the news of %+v", c.save), news, c.want)
	}
	got, err := s.Members(t.Context(), "w", "", 10)
	s.must(err)
	s.same("the members", got, []chat.Member{{World: "w", Entity: "ada", Role: "admin", Gone: true}, {World: "w", Entity: "bob"}})
	_, err = s.SaveMember(t.Context(), chat.Member{Entity: "ada"})
	if err == nil {
		t.Error("a member without a world was stored; want an error")
	}
}

func memberPages(t *testing.T, s store) {
	for _, id := range []chat.EntityID{"c", "a", "d", "b"} {
		require.Value(s.SaveMember(t.Context(), chat.Member{World: "w", Entity: id}))(s.t)
	}
	var got []chat.EntityID
	for after := chat.EntityID(""); ; {
		page := require.Value(s.Members(t.Context(), "w", after, 3))(s.t)
		if len(page) == 0 {
			break
		}
		for _, m := range page {
			got, after = append(got, m.Entity), m.Entity
		}
	}
	s.same("the members", got, []chat.EntityID{"a", "b", "c", "d"})
}

func worldRooms(t *testing.T, s store) {
	for _, r := range []chat.Room{{ID: "r2", World: "w"}, {ID: "r1", World: "w"}, {ID: "r3", World: "v"}, {ID: "r4"}} {
		s.must(s.SaveRoom(t.Context(), r))
	}
	for world, want := range map[chat.WorldID][]chat.RoomID{"w": {"r1", "r2"}, "v": {"r3"}, "u": nil, "": nil} {
		got := require.Value(s.RoomsOf(t.Context(), world))(s.t)
		s.same("the rooms", got, want)
	}
}

func roomGone(t *testing.T, s store) {
	in := message("room", 1)
	s.accept(in, alone)
	gone := in.Place
	gone.Gone = true
	s.must(s.SaveRoom(t.Context(), gone))
	for _, want := range []bool{true, false} {
		got := require.Value(s.Room(t.Context(), "room"))(s.t)
		s.same("the room is marked as deleted", got.Gone, want)
		s.accept(message("room", 2), alone)
	}
}

// directoryModelCheck does the same random calls to s and to a model, and wants the same of both.
func directoryModelCheck(t *testing.T, s storage.Store) {
	rounds := 0
	rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
		rounds++
		model := newStoreModel(failUnmodeled)
		p := &pair{t, s, model, ""}
		world := chat.WorldID(fmt.Sprint("world ", rounds, rapid.IntRange(0, 1).Draw(rt, "world")))
		who := func() chat.EntityID {
			return chat.EntityID(fmt.Sprintf("%d/%s", rounds, rapid.SampledFrom([]string{"ada", "bob", "eve"}).Draw(rt, "who")))
		}
		rt.Repeat(map[string]func(*rapid.T){
			"meet": func(rt *rapid.T) {
				e := chat.Entity{ID: who(), Connector: "fake", Bot: rapid.Bool().Draw(rt, "bot"),
					Names:   rapid.SliceOfN(rapid.SampledFrom([]string{"", "A", "B", "C", "D"}), 0, 3).Draw(rt, "names"),
					Details: rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"", "A", "B"}), 0, 2).Draw(rt, "details")}
				got, gotErr := s.SaveEntity(t.Context(), e)
				want, wantErr := model.SaveEntity(t.Context(), e)
				p.agree(rt, "SaveEntity", got, want, gotErr, wantErr)
			},
			"entity": func(rt *rapid.T) {
				id := who()
				got, gotErr := s.Entity(t.Context(), id)
				want, wantErr := model.Entity(t.Context(), id)
				p.agree(rt, "Entity", got, want, gotErr, wantErr)
			},
			"world": func(rt *rapid.T) {
				w := chat.World{ID: world, Connector: "fake", Gone: rapid.Bool().Draw(rt, "gone"),
					Name: rapid.SampledFrom([]string{"", "W", "V"}).Draw(rt, "name")}
				got, gotErr := s.SaveWorld(t.Context(), w)
				want, wantErr := model.SaveWorld(t.Context(), w)
				p.agree(rt, "SaveWorld", got, want, gotErr, wantErr)
				now, nowErr := s.World(t.Context(), world)
				is, isErr := model.World(t.Context(), world)
				p.agree(rt, "World", now, is, nowErr, isErr)
			},
			"member": func(rt *rapid.T) {
				m := chat.Member{World: world, Entity: who(), Gone: rapid.Bool().Draw(rt, "gone"),
					Role: rapid.SampledFrom([]string{"", "admin", "owner"}).Draw(rt, "role")}
				got, gotErr := s.SaveMember(t.Context(), m)
				want, wantErr := model.SaveMember(t.Context(), m)
				p.agree(rt, "SaveMember", got, want, gotErr, wantErr)
				now, nowErr := s.Members(t.Context(), world, "", 2)
				is, isErr := model.Members(t.Context(), world, "", 2)
				p.agree(rt, "Members", now, is, nowErr, isErr)
			},
		})
	})
}
