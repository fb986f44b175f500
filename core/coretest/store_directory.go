package coretest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"parley/core"
)

func directoryChecks() []storeCheck {
	return []storeCheck{
		{"people are known by all their names", meetNames},
		{"what is noted of people stays", meetDetails},
		{"many names are not all known", meetManyNames},
		{"a world keeps its name", worldNames},
		{"members come and go", memberships},
		{"members are read in pages", memberPages},
		{"a world has its rooms", worldRooms},
		{"a room is gone until something is said there", roomGone},
	}
}

func (s store) meets(e core.Entity, want core.News) {
	s.t.Helper()
	news, err := s.Meet(s.t.Context(), e)
	s.must(err)
	s.same("the news of "+string(e.ID), news, want)
}

func meetNames(t *testing.T, s store) {
	_, err := s.Entity(t.Context(), "ada")
	s.fails(err, core.ErrNotFound)
	ada := func(names ...string) core.Entity { return core.Entity{ID: "ada", Connector: "fake", Names: names} }
	s.meets(ada("Ada"), core.Came)
	s.meets(ada("Ada"), core.Nothing)
	s.meets(ada(), core.Nothing)
	s.meets(ada("Addy"), core.Changed)
	s.meets(ada("Ada"), core.Nothing)
	got, err := s.Entity(t.Context(), "ada")
	s.must(err)
	s.same("ada", got, ada("Ada", "Addy"))
	bot := ada()
	bot.Bot = true
	s.meets(bot, core.Changed)
	got, err = s.Entity(t.Context(), "ada")
	s.must(err)
	s.same("whether it is a bot", got.Bot, true)
	_, err = s.Meet(t.Context(), core.Entity{ID: "bob", Names: []string{"\xff"}})
	if err == nil {
		t.Error("a name that can't be read back is stored")
	}
}

func meetDetails(t *testing.T, s store) {
	ada := core.Entity{ID: "ada", Connector: "fake"}
	with := func(details map[string]string) core.Entity {
		e := ada
		e.Details = details
		return e
	}
	s.meets(with(map[string]string{"language": "French", "name": ""}), core.Came)
	s.meets(ada, core.Nothing)
	s.meets(with(map[string]string{"language": "French"}), core.Nothing)
	s.meets(with(map[string]string{"language": "", "name": "Addy"}), core.Changed)
	got, err := s.Entity(t.Context(), "ada")
	s.must(err)
	s.same("ada", got, with(map[string]string{"name": "Addy"}))
	if _, err := s.Meet(t.Context(), with(map[string]string{"name": "\xff"})); err == nil {
		t.Error("a detail that can't be read back is stored")
	}
}

func meetManyNames(t *testing.T, s store) {
	var want []string
	for i := range core.MaxNames + 3 {
		want = append(want, fmt.Sprint("name ", i))
		_, err := s.Meet(t.Context(), core.Entity{ID: "ada", Names: want[i:]})
		s.must(err)
	}
	got, err := s.Entity(t.Context(), "ada")
	s.must(err)
	s.same("the names", got.Names, want[3:])
}

func worldNames(t *testing.T, s store) {
	_, err := s.World(t.Context(), "w")
	s.fails(err, core.ErrNotFound)
	for _, c := range []struct {
		save, want core.World
		news       core.News
	}{
		{core.World{ID: "w", Connector: "fake", Gone: true}, core.World{}, core.Nothing}, // it never was
		{core.World{ID: "w", Connector: "fake"}, core.World{ID: "w", Connector: "fake"}, core.Came},
		{core.World{ID: "w", Connector: "fake", Name: "W"}, core.World{ID: "w", Connector: "fake", Name: "W"}, core.Changed},
		{core.World{ID: "w", Connector: "fake"}, core.World{ID: "w", Connector: "fake", Name: "W"}, core.Nothing},
		{core.World{ID: "w", Connector: "fake", Gone: true}, core.World{ID: "w", Connector: "fake", Name: "W", Gone: true}, core.Went},
		{core.World{ID: "w", Connector: "fake", Gone: true}, core.World{ID: "w", Connector: "fake", Name: "W", Gone: true}, core.Nothing},
		{core.World{ID: "w", Connector: "fake", Name: "V"}, core.World{ID: "w", Connector: "fake", Name: "V"}, core.Came},
	} {
		news, err := s.SaveWorld(t.Context(), c.save)
		s.must(err)
		s.same("the news", news, c.news)
		if c.want.ID == "" {
			continue
		}
		got, err := s.World(t.Context(), "w")
		s.must(err)
		s.same("the world", got, c.want)
	}
}

func memberships(t *testing.T, s store) {
	for _, c := range []struct {
		save core.Member
		want core.News
	}{
		{core.Member{World: "w", Entity: "ada", Gone: true}, core.Nothing},
		{core.Member{World: "w", Entity: "ada", Role: "owner"}, core.Came},
		{core.Member{World: "w", Entity: "ada"}, core.Nothing},
		{core.Member{World: "w", Entity: "ada", Role: "admin"}, core.Changed},
		{core.Member{World: "v", Entity: "ada"}, core.Came},
		{core.Member{World: "w", Entity: "ada", Gone: true}, core.Went},
		{core.Member{World: "w", Entity: "bob"}, core.Came},
	} {
		news, err := s.SaveMember(t.Context(), c.save)
		s.must(err)
		s.same(fmt.Sprintf("the news of %+v", c.save), news, c.want)
	}
	got, err := s.Members(t.Context(), "w", "", 10)
	s.must(err)
	s.same("the members", got, []core.Member{{World: "w", Entity: "ada", Role: "admin", Gone: true}, {World: "w", Entity: "bob"}})
	_, err = s.SaveMember(t.Context(), core.Member{Entity: "ada"})
	if err == nil {
		t.Error("a member of no world is stored")
	}
}

func memberPages(t *testing.T, s store) {
	for _, id := range []core.EntityID{"c", "a", "d", "b"} {
		_, err := s.SaveMember(t.Context(), core.Member{World: "w", Entity: id})
		s.must(err)
	}
	var got []core.EntityID
	for after := core.EntityID(""); ; {
		page, err := s.Members(t.Context(), "w", after, 3)
		s.must(err)
		if len(page) == 0 {
			break
		}
		for _, m := range page {
			got, after = append(got, m.Entity), m.Entity
		}
	}
	s.same("the members", got, []core.EntityID{"a", "b", "c", "d"})
}

func worldRooms(t *testing.T, s store) {
	for _, r := range []core.Room{{ID: "r2", World: "w"}, {ID: "r1", World: "w"}, {ID: "r3", World: "v"}, {ID: "r4"}} {
		s.must(s.SaveRoom(t.Context(), r))
	}
	for world, want := range map[core.WorldID][]core.RoomID{"w": {"r1", "r2"}, "v": {"r3"}, "u": nil, "": nil} {
		got, err := s.RoomsOf(t.Context(), world)
		s.must(err)
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
		got, err := s.Room(t.Context(), "room")
		s.must(err)
		s.same("whether it is gone", got.Gone, want)
		s.accept(message("room", 2), alone)
	}
}

// directoryModelCheck does the same random calls to s and to a model, and wants the same of both.
func directoryModelCheck(t *testing.T, s core.Store) {
	rounds := 0
	rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) {
		rounds++
		model := newStoreModel()
		p := &pair{t, s, model, ""}
		world := core.WorldID(fmt.Sprint("world ", rounds, rapid.IntRange(0, 1).Draw(rt, "world")))
		who := func() core.EntityID {
			return core.EntityID(fmt.Sprintf("%d/%s", rounds, rapid.SampledFrom([]string{"ada", "bob", "eve"}).Draw(rt, "who")))
		}
		rt.Repeat(map[string]func(*rapid.T){
			"meet": func(rt *rapid.T) {
				e := core.Entity{ID: who(), Connector: "fake", Bot: rapid.Bool().Draw(rt, "bot"),
					Names:   rapid.SliceOfN(rapid.SampledFrom([]string{"", "A", "B", "C", "D"}), 0, 3).Draw(rt, "names"),
					Details: rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"", "A", "B"}), 0, 2).Draw(rt, "details")}
				got, gotErr := s.Meet(t.Context(), e)
				want, wantErr := model.Meet(t.Context(), e)
				p.agree(rt, "Meet", got, want, gotErr, wantErr)
			},
			"entity": func(rt *rapid.T) {
				id := who()
				got, gotErr := s.Entity(t.Context(), id)
				want, wantErr := model.Entity(t.Context(), id)
				p.agree(rt, "Entity", got, want, gotErr, wantErr)
			},
			"world": func(rt *rapid.T) {
				w := core.World{ID: world, Connector: "fake", Gone: rapid.Bool().Draw(rt, "gone"),
					Name: rapid.SampledFrom([]string{"", "W", "V"}).Draw(rt, "name")}
				got, gotErr := s.SaveWorld(t.Context(), w)
				want, wantErr := model.SaveWorld(t.Context(), w)
				p.agree(rt, "SaveWorld", got, want, gotErr, wantErr)
				now, nowErr := s.World(t.Context(), world)
				is, isErr := model.World(t.Context(), world)
				p.agree(rt, "World", now, is, nowErr, isErr)
			},
			"member": func(rt *rapid.T) {
				m := core.Member{World: world, Entity: who(), Gone: rapid.Bool().Draw(rt, "gone"),
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
