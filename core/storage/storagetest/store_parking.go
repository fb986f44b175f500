package storagetest

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

func parkingChecks() []storeCheck {
	return []storeCheck{
		{"a parked run releases its room and starts when it is woken", parkAndWake},
		{"a parked run starts at its deadline", parkUntil},
		{"a parked run ends with the first requested status", parkEnds},
		{"a continued run claims its room with the newest started turn", parkClaims},
		{"only its holder can park a run, and loses it", parkHolder},
		{"the continuation of a parked run is deleted at its end and when it is reopened (SE-20)", parkForgets},
	}
}

// park parks r for an hour.
func (s store) park(r chat.Run) chat.Run {
	s.t.Helper()
	s.must(s.Park(s.t.Context(), r.ID, r.Epoch, chat.Wait{Until: time.Now().Add(time.Hour), Continuation: []byte("go on"), Lasting: true}))
	return s.runOf(chat.Accepted{Run: r.ID})
}

func (s store) roomsOpen() []chat.RoomID {
	s.t.Helper()
	rooms := require.Value(s.OpenRooms(s.t.Context()))(s.t)
	return rooms
}

func parkAndWake(t *testing.T, s store) {
	s.beat("owner", time.Minute)
	s.beat("other", time.Minute)
	r := s.start(s.opened("room", 1).ID, "owner")
	s.attempt(r)
	s.note(r, chat.Note{Text: "so far"})
	p := s.park(r)
	if !p.Parked || p.Held || p.Attempts != 0 || p.Text != "so far" || !p.Continues || p.Outcome.Done() {
		t.Errorf("the parked run is %+v; want it released, with its text and a continuation", p)
	}
	s.same("rooms to look at", s.roomsOpen(), []chat.RoomID{})
	s.same("its room has it", len(s.openRuns("room")), 1)
	_, err := s.Start(t.Context(), r.ID, "other")
	s.fails(err, chat.ErrBusy)
	next := s.start(s.opened("room", 2).ID, "owner")
	s.must(s.Wake(t.Context(), r.ID, ""))
	s.same("it is ready", len(s.roomsOpen()), 1)
	_, err = s.Start(t.Context(), r.ID, "other")
	s.fails(err, chat.ErrBusy) // the room is taken
	s.finish(next, answerOf(next, "done"))
	p = s.start(r.ID, "other")
	if p.Parked || !p.Held || p.Ending != "" || !p.Continues {
		t.Errorf("the started run is %+v; want it held, with a continuation", p)
	}
	found := require.Value(s.Continuation(t.Context(), r.ID))(s.t)
	s.same("the continuation", string(found), "go on")
	s.fails(s.Wake(t.Context(), r.ID, ""), answer.ErrLost)
	s.fails(s.Wake(t.Context(), "room#9", ""), answer.ErrLost)
	next = s.opened("room", 3)
	_, err = s.Start(t.Context(), next.ID, "owner")
	s.fails(err, chat.ErrBusy)
}

func parkUntil(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.park(r)
	time.Sleep(time.Hour - time.Second)
	_, err := s.Start(t.Context(), r.ID, "owner")
	s.fails(err, chat.ErrBusy)
	time.Sleep(time.Second)
	s.same("rooms to look at", s.roomsOpen(), []chat.RoomID{"room"})
	r = s.start(r.ID, "owner")
	s.must(s.Park(t.Context(), r.ID, r.Epoch, chat.Wait{Until: time.Now().Add(time.Minute)}))
	_, err = s.Continuation(t.Context(), r.ID)
	s.fails(err, chat.ErrNotFound)
	if s.runOf(chat.Accepted{Run: r.ID}).Continues {
		t.Error("Continues is true after the second parking; want false")
	}
}

func parkEnds(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.park(r)
	s.must(s.Wake(t.Context(), r.ID, ""))
	s.must(s.Wake(t.Context(), r.ID, answer.Stopped))
	s.must(s.Wake(t.Context(), r.ID, answer.Superseded))
	s.must(s.Wake(t.Context(), r.ID, ""))
	r = s.start(r.ID, "owner")
	s.same("it ends as", r.Ending, answer.Stopped)
	s.same("also for the next holder", s.start(r.ID, "owner").Ending, answer.Stopped)
	r = s.start(r.ID, "owner")
	s.park(r)
	s.same("once more it ends", s.start(r.ID, "owner").Ending, answer.Stopped)
	next := s.opened("another room", 1)
	s.fails(s.Wake(t.Context(), next.ID, answer.Stopped), answer.ErrLost)
	next = s.start(next.ID, "owner")
	s.fails(s.Wake(t.Context(), next.ID, answer.Superseded), answer.ErrLost)
	s.must(s.Wake(t.Context(), next.ID, answer.Stopped)) // before it is parked
	s.park(next)
	s.same("rooms to look at", len(s.roomsOpen()), 2)
	s.same("one that was stopped before it waited ends as", s.start(next.ID, "owner").Ending, answer.Stopped)
}

func parkClaims(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.park(r)
	for n := range 2 {
		next := s.start(s.opened("room", 2+n).ID, "owner")
		s.finish(next, answerOf(next, "done"))
	}
	command := s.runOf(s.accept(message("room", 4), chat.JoinRule{Kind: chat.RunCommand}))
	s.finish(s.start(command.ID, "owner"), chat.Memory{})
	s.opened("room", 5)
	s.must(s.Wake(t.Context(), r.ID, ""))
	r = s.start(r.ID, "owner")
	s.same("it claims the turn", r.Turn(), chat.ResponseID(3))
	s.same("it has the turn", r.Response, chat.ResponseID(1))

	notice := s.start(s.runOf(s.accept(message("other room", 1), chat.JoinRule{Kind: chat.RunNotify})).ID, "owner")
	s.park(notice)
	s.must(s.Wake(t.Context(), notice.ID, ""))
	s.same("one that claims no room goes on where no turn was started", s.start(notice.ID, "owner").Turn(), notice.Turn())
}

func parkHolder(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.fails(s.Park(t.Context(), r.ID, r.Epoch-1, chat.Wait{}), answer.ErrLost)
	s.park(r)
	s.fails(s.Park(t.Context(), r.ID, r.Epoch, chat.Wait{}), answer.ErrLost)
	s.fails(s.Note(t.Context(), r.ID, r.Epoch, chat.Note{Text: "more"}), answer.ErrLost)
	s.fails(s.Finish(t.Context(), r.ID, r.Epoch, done, chat.Memory{}), answer.ErrLost)
	s.beat("owner", time.Second)
	time.Sleep(2 * time.Second)
	if r := s.runOf(chat.Accepted{Run: r.ID}); r.Deaths != 0 {
		t.Errorf("the run has %d crashes of a process that released it; want none", r.Deaths)
	}
	s.same("it waits for no process", s.fleet().Waiting, 0)
}

func parkForgets(t *testing.T, s store) {
	r := s.start(s.opened("room", 1).ID, "owner")
	s.park(r)
	s.must(s.Reopen(t.Context(), r.ID))
	if r := s.runOf(chat.Accepted{Run: r.ID}); r.Parked || r.Continues {
		t.Errorf("the reopened run is %+v; want no continuation", r)
	}
	r = s.start(r.ID, "owner")
	s.park(r)
	s.must(s.Wake(t.Context(), r.ID, answer.Stopped))
	r = s.start(r.ID, "owner")
	s.finish(r, chat.Memory{})
	_, err := s.Continuation(t.Context(), r.ID)
	s.fails(err, chat.ErrNotFound)
	if r := s.runOf(chat.Accepted{Run: r.ID}); r.Parked || r.Continues || r.Ending != "" {
		t.Errorf("the ended run is %+v; want no continuation and no requested end", r)
	}
	s.fails(s.Park(t.Context(), r.ID, r.Epoch, chat.Wait{}), answer.ErrLost)
}

// Park implements [storage.Parking].
func (s *storeModel) Park(_ context.Context, id chat.RunID, epoch chat.Epoch, w chat.Wait) error {
	r := s.find(id)
	if r == nil || r.Outcome.Done() || r.Epoch != epoch || r.Parked {
		return answer.ErrLost
	}
	r.Parked, r.Lasting, r.Ready, r.Continues, r.continuation = true, w.Lasting, w.Until, len(w.Continuation) > 0, slices.Clone(w.Continuation)
	if r.Ending != "" {
		r.Ready = time.Now()
	}
	r.Epoch++
	r.owner, r.Deaths, r.Blamed, r.risk, r.Attempts = "", 0, 0, "", 0
	return nil
}

// Wake implements [storage.Parking].
func (s *storeModel) Wake(_ context.Context, id chat.RunID, end answer.Status) error {
	r := s.find(id)
	if r == nil || r.Outcome.Done() || !r.Parked && (r.Epoch == 0 || end != answer.Stopped) {
		return answer.ErrLost
	}
	if now := time.Now(); r.Parked && now.Before(r.Ready) {
		r.Ready = now
	}
	r.Ending = cmp.Or(r.Ending, end)
	return nil
}

// Continuation implements [storage.Parking].
func (s *storeModel) Continuation(_ context.Context, id chat.RunID) ([]byte, error) {
	if r := s.find(id); r != nil && r.Continues {
		return slices.Clone(r.continuation), nil
	}
	return nil, chat.ErrNotFound
}

// unpark lets r be under way again.
func (s *storeModel) unpark(r *ownedRun) {
	if !r.Parked {
		return
	}
	r.Parked = false
	for _, o := range s.runs {
		if o.Room == r.Room && o.Epoch > 0 && o.Kind.Claims() && (o.Kind == chat.RunTask) == (r.Kind == chat.RunTask) {
			r.Retried = max(r.Retried, o.Turn())
		}
	}
}

// forgetParking leaves nothing of r's waiting.
func forgetParking(r *ownedRun) {
	r.Parked, r.Ending, r.Continues, r.continuation = false, "", false, nil
}
