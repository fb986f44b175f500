package storagetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

func acceptChecks() []storeCheck {
	return []storeCheck{
		{"a new message opens a run", acceptOpens},
		{"a duplicate message changes nothing (IN-01, IN-04)", acceptDuplicate},
		{"a duplicate with another text is reported (IN-04)", acceptAltered},
		{"each room numbers its turns without gaps", acceptTurns},
		{"a message without a run takes a turn", acceptNoRun},
		{"a message stores its room", acceptRoom},
		{"concurrent deliveries of one message open one run (IN-03)", acceptSameAtOnce},
		{"concurrent messages get separate turns (IN-06)", acceptManyAtOnce},
		{"a call with a done context stores nothing", acceptCancelled},
	}
}

func acceptOpens(t *testing.T, s store) {
	in := message("room", 1)
	acc := s.accept(in, chat.JoinRule{Window: time.Second})
	s.same("accepted", acc, chat.Accepted{Memory: in.ID, Run: acc.Run, Response: 1})
	if acc.Run == "" {
		t.Error("the accepted message has no run; want one")
	}
	want := chat.Run{ID: acc.Run, Response: 1, Room: "room", RoomKind: chat.Group, Address: in.Address, Author: "ada",
		Inputs: []chat.MemoryID{in.ID}, Opened: time.Now(), Ready: time.Now().Add(time.Second)}
	s.same("the run", s.runOf(acc), want)
	s.same("the open runs", s.openRuns("room"), []chat.Run{want})
	rooms := require.Value(s.OpenRooms(t.Context()))(s.t)
	s.same("the open rooms", rooms, []chat.RoomID{"room"})
}

func acceptDuplicate(t *testing.T, s store) {
	in := message("room", 1)
	_, err := s.Known(t.Context(), in.Memory)
	s.fails(err, chat.ErrNotFound)
	first := s.accept(in, alone)
	before := s.runOf(first)
	want := first
	want.Duplicate = true
	other := in
	other.Address.ReplyTo, other.Place.Name, other.Name = "elsewhere", "another name", "another"
	for _, j := range []chat.JoinRule{alone, {NoRun: true}, {Collect: true}, {Window: time.Hour}} {
		s.same("accepted again", s.accept(other, j), want)
	}
	s.same("the run", s.runOf(first), before)
	known := require.Value(s.Known(t.Context(), other.Memory))(s.t)
	s.same("known", known, want)
	s.same("the memories", s.texts("room", 0, 10), []string{in.Text})
	room := require.Value(s.Room(t.Context(), "room"))(s.t)
	s.same("the room", room, in.Here())

	r := s.start(first.Run, "owner")
	s.finish(r, chat.Memory{})
	s.same("accepted again after the end", s.accept(in, chat.JoinRule{Collect: true}), want)
	s.same("the open runs", s.openRuns("room"), []chat.Run{})
	if next := s.accept(message("room", 2), alone); next.Response != 2 {
		t.Errorf("the next turn is %d; want 2", next.Response)
	}
}

func acceptAltered(t *testing.T, s store) {
	in := message("room", 1)
	want := s.accept(in, alone)
	want.Duplicate, want.Altered = true, true
	in.Text = "something else"
	known := require.Value(s.Known(t.Context(), in.Memory))(s.t)
	s.same("known", known, want)
	s.same("accepted again", s.accept(in, alone), want)
	s.same("the memories", s.texts("room", 0, 10), []string{"message 1"})
}

func acceptTurns(t *testing.T, s store) {
	for n := range chat.ResponseID(5) {
		for _, room := range []chat.RoomID{"a", "b", "a#1"} {
			if acc := s.accept(message(room, int(n)), alone); acc.Response != n+1 {
				t.Errorf("a message in %s got turn %d; want %d", room, acc.Response, n+1)
			}
		}
	}
	s.same("the open runs of b", len(s.openRuns("b")), 5)
	if r := s.openRuns("a#1")[0]; r.Room != "a#1" {
		t.Errorf("a run of a#1 has the room %q; want a#1", r.Room)
	}
}

func acceptNoRun(t *testing.T, s store) {
	in := message("room", 1)
	want := chat.Accepted{Memory: in.ID, Response: 1}
	s.same("accepted", s.accept(in, chat.JoinRule{NoRun: true, Collect: true}), want)
	want.Duplicate = true
	s.same("accepted again", s.accept(in, alone), want)
	s.same("the open runs", s.openRuns("room"), []chat.Run{})
	if acc := s.accept(message("room", 2), alone); acc.Response != 2 {
		t.Errorf("the next turn is %d; want 2", acc.Response)
	}
	s.accept(message("room", 3), chat.JoinRule{NoRun: true, Collect: true, Window: time.Hour})
	s.same("the inputs of the only run", s.openRuns("room")[0].Inputs, []chat.MemoryID{"room/2"})
	s.same("the prompt's memories", s.texts("room", 2, 10), []string{"message 1", "message 2"})
}

func acceptRoom(t *testing.T, s store) {
	in := message("room", 1)
	in.Place.World, in.Place.Created = "world", time.Now().Add(-time.Hour)
	s.accept(in, alone)
	want := in.Here()
	room := require.Value(s.Room(t.Context(), "room"))(s.t)
	s.same("the room", room, want)

	next := message("room", 2)
	next.Place.Name, next.Place.Kind, next.Place.Created = "renamed", chat.Thread, time.Now()
	next.Place.World = want.World
	want.Name, want.Kind = "renamed", chat.Thread
	r := s.runOf(s.accept(next, alone))
	room = require.Value(s.Room(t.Context(), "room"))(s.t)
	s.same("the room that has changed", room, want)
	s.same("the kind of the next run", r.RoomKind, chat.Thread)
	s.same("the kind of the first run", s.openRuns("room")[0].RoomKind, chat.Group)
}

func acceptSameAtOnce(t *testing.T, s store) {
	const deliveries = 50
	all := make([]chat.Accepted, deliveries)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			acc, err := s.Accept(t.Context(), message("room", 1), alone)
			if err != nil {
				t.Error(err)
			}
			all[i] = acc
		})
	}
	wg.Wait()
	firsts := 0
	for _, acc := range all {
		if !acc.Duplicate {
			firsts++
		}
		acc.Duplicate = false
		s.same("accepted", acc, chat.Accepted{Memory: "room/1", Run: all[0].Run, Response: 1})
	}
	s.same("the number of first deliveries", firsts, 1)
	s.same("the number of runs", len(s.openRuns("room")), 1)
}

func acceptManyAtOnce(t *testing.T, s store) {
	const writers, each = 10, 10
	turns := make([][]chat.ResponseID, writers)
	var wg sync.WaitGroup
	for w := range turns {
		wg.Go(func() {
			for n := range each {
				acc, err := s.Accept(t.Context(), message("room", w*each+n), alone)
				if err != nil {
					t.Error(err)
				}
				turns[w] = append(turns[w], acc.Response)
			}
		})
	}
	wg.Wait()
	for _, own := range turns {
		if !slices.IsSorted(own) {
			t.Errorf("the turns of one writer are %v; want increasing ones", own)
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(turns...)))
	for i, turn := range all {
		if turn != chat.ResponseID(i+1) {
			t.Fatalf("the turns are %v; want each once and no gaps", all)
		}
	}
	s.same("the number of runs", len(s.openRuns("room")), writers*each)
}

func acceptCancelled(t *testing.T, s store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Accept(ctx, message("room", 1), alone)
	s.fails(err, context.Canceled)
	_, err = s.Memory(t.Context(), "room/1")
	s.fails(err, chat.ErrNotFound)
	s.same("the first turn", s.accept(message("room", 1), alone).Response, chat.ResponseID(1))
}
