// Package inmem keeps in memory the state that replicas share through Redis: the latest turns and live answers. It
// serves a single-process gateway, and is the local part of each replica of a larger one. Nothing here starts a
// goroutine that outlives its work.
package inmem

import (
	"container/list"
	"context"
	"sync"
	"time"

	"parley/core"
	"parley/core/chat"
)

// Remembered is the lifetime of a room's marks after their last use: longer than any run, so that a late, smaller id
// is still detected.
const Remembered = 24 * time.Hour

// Tracker is a [core.Tracker] for one process. It is safe for concurrent use.
type Tracker struct {
	mu    sync.Mutex
	rooms map[place]*room
	held  map[*room]struct{} // those with claims
	aged  list.List          // of *room: the one that was left alone longest comes first
}

// NewTracker returns an empty tracker.
func NewTracker() *Tracker { return &Tracker{rooms: map[place]*room{}, held: map[*room]struct{}{}} }

// Claim implements [core.Tracker].
func (t *Tracker) Claim(ctx context.Context, agent chat.AgentID, in chat.RoomID, id chat.ResponseID) (context.Context, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.enter(place{agent, in})
	if err := r.marks.Settle(id); err != nil {
		return nil, err
	}
	r.raise(Marks{Latest: id})
	ctx, cancel := context.WithCancelCause(ctx)
	c := &claim{id, cancel}
	r.claims[c] = struct{}{}
	t.held[r] = struct{}{}
	context.AfterFunc(ctx, func() { t.release(r, c) })
	return ctx, nil
}

// Settle implements [core.Tracker]. It never fails otherwise.
func (t *Tracker) Settle(_ context.Context, agent chat.AgentID, in chat.RoomID, id chat.ResponseID) error {
	return t.Marks(agent, in).Settle(id)
}

// Marks returns the marks of a room.
func (t *Tracker) Marks(agent chat.AgentID, in chat.RoomID) Marks {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[place{agent, in}]
	if r == nil {
		return Marks{}
	}
	t.touch(r)
	return r.marks
}

// Stop implements [core.Tracker]. It never fails.
func (t *Tracker) Stop(_ context.Context, agent chat.AgentID, in chat.RoomID, upTo chat.ResponseID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enter(place{agent, in}).raise(Marks{Stopped: upTo})
	return nil
}

// Learn raises the marks of a room to m where m is greater, and cancels the claims that this ends. It ignores rooms
// that this tracker was never asked about.
func (t *Tracker) Learn(agent chat.AgentID, in chat.RoomID, m Marks) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.rooms[place{agent, in}]; r != nil {
		r.raise(m)
	}
}

// Held returns the latest claimed turn of each room that has one, in no particular order.
func (t *Tracker) Held() []Held {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Held, 0, len(t.held))
	for r := range t.held {
		var latest chat.ResponseID
		for c := range r.claims {
			latest = max(latest, c.id)
		}
		all = append(all, Held{r.agent, r.room, latest})
	}
	return all
}

// enter finds or makes the entry of p, and makes room by forgetting old ones.
func (t *Tracker) enter(p place) *room {
	r := t.rooms[p]
	if r == nil {
		r = &room{place: p, claims: map[*claim]struct{}{}}
		r.age = t.aged.PushBack(r)
		t.rooms[p] = r
	}
	t.touch(r)
	t.forget()
	return r
}

func (t *Tracker) touch(r *room) {
	r.touched = time.Now()
	t.aged.MoveToBack(r.age)
}

// forget drops at most two idle, unclaimed rooms. Each call adds at most one room, so the table shrinks over time and
// no single call pays for a full scan.
func (t *Tracker) forget() {
	for range 2 {
		r := t.aged.Front().Value.(*room)
		if time.Since(r.touched) < Remembered {
			return
		}
		if len(r.claims) > 0 {
			t.touch(r)
			continue
		}
		t.aged.Remove(r.age)
		delete(t.rooms, r.place)
	}
}

// release drops a claim. The room's marks stay, so a late request is still recognized as late.
func (t *Tracker) release(r *room, c *claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(r.claims, c)
	if len(r.claims) == 0 {
		delete(t.held, r)
	}
	t.touch(r)
}

var _ core.Tracker = (*Tracker)(nil)

type place struct {
	agent chat.AgentID
	room  chat.RoomID
}

type room struct {
	place
	marks   Marks
	claims  map[*claim]struct{}
	touched time.Time
	age     *list.Element
}

// raise never lowers a mark. Claims are cancelled before it returns.
func (r *room) raise(m Marks) {
	r.marks = r.marks.Raised(m)
	for c := range r.claims {
		if err := r.marks.Settle(c.id); err != nil {
			c.cancel(err)
		}
	}
}

type claim struct {
	id     chat.ResponseID
	cancel context.CancelCauseFunc
}

// Held is a turn with an active claim.
type Held struct {
	Agent chat.AgentID
	Room  chat.RoomID
	ID    chat.ResponseID
}

// Marks are a tracker's record of a room. They only increase.
type Marks struct {
	Latest  chat.ResponseID // the greatest claimed turn; 0 if there is none
	Stopped chat.ResponseID // this turn and all before it are stopped; 0 if there is none
}

// Settle returns the state of turn id: nil, [chat.ErrSuperseded] or [chat.ErrStopped].
func (m Marks) Settle(id chat.ResponseID) error {
	switch {
	case id <= m.Stopped:
		return chat.ErrStopped
	case id < m.Latest:
		return chat.ErrSuperseded
	}
	return nil
}

// Raised returns the greater of both, mark by mark.
func (m Marks) Raised(by Marks) Marks {
	return Marks{max(m.Latest, by.Latest), max(m.Stopped, by.Stopped)}
}
