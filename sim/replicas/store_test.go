package replicas

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/quota"
	"parley/core/storage"
)

// remoteStore is the store that all processes share, as one of them reaches it.
type remoteStore struct {
	storage.Store
	p *process
}

// Guards that a store can do without, to see that the seeds miss them.
const (
	noFencing = "epochs are not compared"
	noMarks   = "what arrives again is not known"
	noLeases  = "heartbeats are not kept"
)

// again is a message that a store without marks takes for another one.
func (s *remoteStore) again(m *chat.Memory) {
	if s.p.w.missing == noMarks {
		m.ID = chat.MemoryID(fmt.Sprint(m.ID, "/", s.p.w.called("marks")))
	}
}

// epoch is the one that a note is made with.
func (s *remoteStore) epoch(ctx context.Context, id chat.RunID, e chat.Epoch) chat.Epoch {
	if r, err := s.Store.Run(ctx, id); err == nil && e > 0 && s.p.w.missing == noFencing {
		return r.Epoch
	}
	return e
}

func stored[T ~string](name string, of T) call {
	return call{port: toStore, name: name, of: string(of), effect: true, slow: 10 * time.Millisecond}
}

func looked[T ~string](name string, of T) call {
	return call{port: toStore, name: name, of: string(of), slow: 5 * time.Millisecond}
}

func (s *remoteStore) Accept(ctx context.Context, m chat.Message, j chat.JoinRule) (chat.Accepted, error) {
	s.again(&m.Memory)
	return reach(ctx, s.p, stored("accept", m.Room), func() (chat.Accepted, error) { return s.Store.Accept(ctx, m, j) })
}

func (s *remoteStore) Known(ctx context.Context, m chat.Memory) (chat.Accepted, error) {
	s.again(&m)
	return reach(ctx, s.p, looked("known", m.ID), func() (chat.Accepted, error) { return s.Store.Known(ctx, m) })
}

func (s *remoteStore) Mark(ctx context.Context, room chat.RoomID, id chat.MemoryID) (chat.Accepted, error) {
	return reach(ctx, s.p, stored("mark", id), func() (chat.Accepted, error) { return s.Store.Mark(ctx, room, id) })
}

func (s *remoteStore) Start(ctx context.Context, id chat.RunID, owner string) (chat.Run, error) {
	return reach(ctx, s.p, stored("start", id), func() (chat.Run, error) {
		from := time.Now()
		r, err := s.Store.Start(ctx, id, owner)
		if err == nil {
			s.p.w.log.add(event{from: from, to: time.Now(), by: s.p.name, what: started, room: r.Room, turn: r.Response, epoch: r.Epoch})
		}
		if slices.ContainsFunc(r.Shown, announced) {
			s.p.w.log.doubt(id) // the process that announced it may have stopped before it asked the platform
		}
		return r, err
	})
}

// announced reports whether the journal holds only that a message was about to be sent.
func announced(s chat.Shown) bool { return s.ID == "" && !s.Gone }

func (s *remoteStore) Note(ctx context.Context, id chat.RunID, e chat.Epoch, n chat.Note) error {
	err := act(ctx, s.p, stored(noteName(n), id), func() error { return s.Store.Note(ctx, id, s.epoch(ctx, id, e), n) })
	if n.Shown != nil && (err != nil || s.overtaken(ctx, id, e)) {
		s.p.w.log.doubt(id) // what is there is not known to the next holder
	}
	return err
}

// overtaken reports whether another process has started the run since e, so that it does not learn what this one does with its note.
func (s *remoteStore) overtaken(ctx context.Context, id chat.RunID, e chat.Epoch) bool {
	r, err := s.Store.Run(ctx, id)
	return err == nil && r.Epoch != e
}

func (s *remoteStore) Attempt(ctx context.Context, id chat.RunID, e chat.Epoch, day string, message ...quota.Charge) (string, error) {
	return reach(ctx, s.p, stored("attempt", id), func() (string, error) {
		return s.Store.Attempt(ctx, id, s.epoch(ctx, id, e), day, message...)
	})
}

func noteName(n chat.Note) string {
	switch {
	case n.Verdict != nil:
		return "note verdict"
	case n.Acting != "" || n.Acted != "":
		return "note action"
	case n.Shown != nil:
		return "note shown"
	}
	return "note text"
}

func (s *remoteStore) Finish(ctx context.Context, id chat.RunID, e chat.Epoch, o answer.Outcome, m chat.Memory) error {
	return act(ctx, s.p, stored("finish", id), func() error {
		from := time.Now()
		err := s.Store.Finish(ctx, id, s.epoch(ctx, id, e), o, m)
		if r, failed := s.Store.Run(ctx, id); err == nil && failed == nil {
			s.p.w.log.add(event{from: from, to: time.Now(), by: s.p.name, what: finished, room: r.Room, turn: r.Response, epoch: e, shows: m.ID != ""})
		}
		return err
	})
}

func (s *remoteStore) Beat(ctx context.Context, owner string, until time.Time) error {
	if s.p.w.missing == noLeases {
		until = time.Now()
	}
	return act(ctx, s.p, looked("beat", ""), func() error { return s.Store.Beat(ctx, owner, until) })
}

func (s *remoteStore) Leave(ctx context.Context, owner string) error {
	return act(ctx, s.p, stored("leave", ""), func() error { return s.Store.Leave(ctx, owner) })
}

func (s *remoteStore) Run(ctx context.Context, id chat.RunID) (chat.Run, error) {
	return reach(ctx, s.p, looked("run", id), func() (chat.Run, error) { return s.Store.Run(ctx, id) })
}

func (s *remoteStore) RunShowing(ctx context.Context, room chat.RoomID, topics bool, message string, turns int) (chat.Run, error) {
	return reach(ctx, s.p, looked("run that shows", message), func() (chat.Run, error) { return s.Store.RunShowing(ctx, room, topics, message, turns) })
}

func (s *remoteStore) RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error) {
	return reach(ctx, s.p, looked("run of", id), func() (chat.Run, error) { return s.Store.RunOf(ctx, id) })
}

func (s *remoteStore) OpenRuns(ctx context.Context, in chat.RoomID) ([]chat.Run, error) {
	return reach(ctx, s.p, looked("open runs", in), func() ([]chat.Run, error) { return s.Store.OpenRuns(ctx, in) })
}

func (s *remoteStore) OpenRooms(ctx context.Context) ([]chat.RoomID, error) {
	return reach(ctx, s.p, looked("open rooms", ""), func() ([]chat.RoomID, error) { return s.Store.OpenRooms(ctx) })
}

func (s *remoteStore) Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error) {
	return reach(ctx, s.p, looked("memory", id), func() (chat.Memory, error) { return s.Store.Memory(ctx, id) })
}

func (s *remoteStore) Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error) {
	return reach(ctx, s.p, looked("recent", room), func() ([]chat.Memory, error) { return s.Store.Recent(ctx, room, kind, upTo, limit) })
}

func (s *remoteStore) Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error) {
	return reach(ctx, s.p, looked("attention", room), func() (chat.Attention, error) { return s.Store.Attention(ctx, room) })
}

func (s *remoteStore) Withdraw(ctx context.Context, room chat.RoomID, run chat.RunID) error {
	return act(ctx, s.p, stored("withdraw", run), func() error { return s.Store.Withdraw(ctx, room, run) })
}
