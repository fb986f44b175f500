package storagetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

func startChecks() []storeCheck {
	return []storeCheck{
		{"Start makes the owner the holder", startHolds},
		{"a room has one started run", startBusy},
		{"a run of a living owner can't be started", startLiving},
		{"a dead owner's run is adopted with all its notes (IN-10)", startAdopts},
		{"a dead owner's run is started before others of its room", startDeadFirst},
		{"of concurrent owners one starts the run (IN-06)", startAtOnce},
		{"of concurrent runs one starts in the room (IN-06)", startRoomAtOnce},
	}
}

func startHolds(t *testing.T, s store) {
	s.beat("owner", time.Minute)
	want := s.runOf(s.accept(message("room", 1), chat.JoinRule{Window: window}))
	s.accept(message("room", 2), chat.JoinRule{Window: window})
	want.Inputs = []chat.MemoryID{"room/1", "room/2"}
	want.Address = message("room", 2).Address
	want.Epoch, want.Held = 1, true
	s.same("the run that Start returned", s.start(want.ID, "owner"), want)
	s.same("the open runs", s.openRuns("room"), []chat.Run{want})
	time.Sleep(time.Minute)
	want.Held, want.Deaths = false, 1
	s.same("the open runs when the owner is dead", s.openRuns("room"), []chat.Run{want})
}

func startBusy(t *testing.T, s store) {
	s.beat("owner", time.Minute)
	first, second := s.opened("room", 1), s.opened("room", 2)
	elsewhere := s.opened("elsewhere", 1)
	s.start(second.ID, "owner")
	_, err := s.Start(t.Context(), first.ID, "owner")
	s.fails(err, chat.ErrBusy)
	s.same("the run that was refused", s.openRuns("room")[0], first)
	s.start(elsewhere.ID, "owner")
}

func startLiving(t *testing.T, s store) {
	s.beat("owner", time.Minute)
	s.beat("other", time.Hour)
	r := s.start(s.opened("room", 1).ID, "owner")
	for range 3 {
		time.Sleep(time.Minute - 1)
		_, err := s.Start(t.Context(), r.ID, "other")
		s.fails(err, chat.ErrBusy)
		s.beat("owner", time.Minute)
	}
	s.note(r, chat.Note{Text: "still mine"})
	s.same("the epoch when its owner starts it again", s.start(r.ID, "owner").Epoch, chat.Epoch(2))
	s.beat("owner", 0)
	s.same("the epoch when its owner has let go", s.start(r.ID, "other").Epoch, chat.Epoch(3))
}

func startAdopts(t *testing.T, s store) {
	s.beat("owner", time.Minute)
	s.beat("other", time.Hour)
	old := s.start(s.opened("room", 1).ID, "owner")
	verdict := chat.Verdict{Outcome: done, Text: "the last word"}
	s.note(old, chat.Note{Text: "so far", Shown: []chat.Shown{{Part: 0, ID: "m0"}}, Acting: "call", Verdict: &verdict})
	time.Sleep(time.Minute)
	want := old
	want.Epoch, want.Text, want.Shown, want.Acting, want.Verdict = 2, "so far", []chat.Shown{{Part: 0, ID: "m0"}}, "call", &verdict
	s.same("the run that Start returned", s.start(old.ID, "other"), want)
	s.beat("owner", time.Minute)
	s.fails(s.Note(t.Context(), old.ID, old.Epoch, chat.Note{Text: "I was only asleep"}), answer.ErrLost)
	_, err := s.Start(t.Context(), old.ID, "owner")
	s.fails(err, chat.ErrBusy)
}

func startDeadFirst(t *testing.T, s store) {
	s.beat("owner", time.Minute)
	first, second := s.opened("room", 1), s.opened("room", 2)
	s.start(first.ID, "owner")
	time.Sleep(time.Hour)
	_, err := s.Start(t.Context(), second.ID, "other")
	s.fails(err, chat.ErrBusy)
	s.finish(s.start(first.ID, "other"), chat.Memory{})
	s.start(second.ID, "other")
}

// atOnce counts the starts that succeed. Those that don't must be told that the room is busy.
func (s store) atOnce(n int, start func(i int) error) (won int) {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = start(i) })
	}
	wg.Wait()
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, chat.ErrBusy):
			s.t.Errorf("the error is %v; want: %v", err, chat.ErrBusy)
		}
	}
	return won
}

func startAtOnce(t *testing.T, s store) {
	r := s.opened("room", 1)
	won := s.atOnce(10, func(i int) error {
		owner := fmt.Sprint("owner ", i)
		if err := s.RenewLease(t.Context(), owner, time.Now().Add(time.Minute)); err != nil {
			return err
		}
		_, err := s.Start(t.Context(), r.ID, owner)
		return err
	})
	s.same("the number of owners that started the run", won, 1)
}

func startRoomAtOnce(t *testing.T, s store) {
	var ids []chat.RunID
	for n := range 10 {
		ids = append(ids, s.opened("room", n).ID)
	}
	won := s.atOnce(len(ids), func(i int) error {
		_, err := s.Start(t.Context(), ids[i], "owner")
		return err
	})
	s.same("the number of runs that started", won, 1)
}
