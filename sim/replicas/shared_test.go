package replicas

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/backends/inmem"
	"parley/core"
	"parley/core/chat"
	"parley/core/relay"
	"parley/progressive"
)

// shared is what Redis holds for all processes. It can lose everything at any time.
type shared struct {
	bus *inmem.Bus

	mu      sync.Mutex
	tracker *inmem.Tracker
	n       int // bookings so far
	booked  map[progressive.Scope][]booking
	held    map[progressive.Scope]time.Time
}

type booking struct {
	id string
	at time.Time // from when on it counts; an open one counts until it is settled
}

func newShared() *shared {
	s := &shared{bus: inmem.NewBus()}
	s.forget()
	return s
}

func (s *shared) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tracker = inmem.NewTracker()
	s.booked, s.held = map[progressive.Scope][]booking{}, map[progressive.Scope]time.Time{}
}

func (s *shared) now() *inmem.Tracker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tracker
}

func fast[T ~string](name string, of T, effect bool) call {
	return call{port: toShared, name: name, of: string(of), effect: effect, slow: 3 * time.Millisecond}
}

// remoteTracker is the tracker, as one process reaches it: while it is cut off, or pauses, it hears of no later turn.
type remoteTracker struct {
	of *shared
	p  *process
}

func (t remoteTracker) Claim(ctx context.Context, a chat.AgentID, in chat.RoomID, id chat.ResponseID) (context.Context, error) {
	claimed, err := reach(ctx, t.p, fast("claim", in, true), func() (context.Context, error) { return t.of.now().Claim(ctx, a, in, id) })
	if err != nil {
		return nil, err
	}
	heard, hear := context.WithCancelCause(ctx)
	context.AfterFunc(claimed, func() {
		for t.p.awake() && t.p.isCut(toShared) {
			time.Sleep(time.Second)
		}
		hear(context.Cause(claimed))
	})
	return heard, nil
}

func (t remoteTracker) Settle(ctx context.Context, a chat.AgentID, in chat.RoomID, id chat.ResponseID) error {
	return act(ctx, t.p, fast("settle", in, false), func() error { return t.of.now().Settle(ctx, a, in, id) })
}

func (t remoteTracker) Stop(ctx context.Context, a chat.AgentID, in chat.RoomID, upTo chat.ResponseID) error {
	return act(ctx, t.p, fast("stop", in, true), func() error { return t.of.now().Stop(ctx, a, in, upTo) })
}

// remoteBus loses frames.
type remoteBus struct {
	relay.Bus
	p *process
}

func (b remoteBus) Publish(ctx context.Context, in chat.RoomID, f relay.Frame) error {
	return act(ctx, b.p, fast("publish", in, false), func() error { return b.Bus.Publish(ctx, in, f) })
}

// remoteBudget is a [progressive.SharedBudget], as one process reaches it.
type remoteBudget struct {
	of *shared
	p  *process
}

var (
	_ core.Tracker             = remoteTracker{}
	_ progressive.SharedBudget = remoteBudget{}
)

func (b remoteBudget) Book(ctx context.Context, claims []progressive.Claim) (progressive.Booking, error) {
	return reach(ctx, b.p, fast("book", claims[0].Scope, false), func() (progressive.Booking, error) { return b.of.book(claims), nil })
}

func (s *shared) book(claims []progressive.Claim) progressive.Booking {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range claims {
		if wait := s.full(c); wait > 0 {
			return progressive.Booking{Claims: claims, Full: i, Wait: wait}
		}
	}
	s.n++
	id := fmt.Sprint(s.n)
	for _, c := range claims {
		s.booked[c.Scope] = append(s.booked[c.Scope], booking{id, time.Now()})
	}
	return progressive.Booking{ID: id, Claims: claims}
}

// full returns how long there is no permit for c.
func (s *shared) full(c progressive.Claim) time.Duration {
	if left := time.Until(s.held[c.Scope]); left > 0 {
		return left
	}
	s.booked[c.Scope] = slices.DeleteFunc(s.booked[c.Scope], func(b booking) bool { return time.Since(b.at) >= c.Per })
	if in := s.booked[c.Scope]; c.N > 0 && len(in) > 0 && len(in)+c.Keep >= c.N {
		return max(time.Until(in[0].at.Add(c.Per)), time.Millisecond)
	}
	return 0
}

func (b remoteBudget) Settle(ctx context.Context, k progressive.Booking, s progressive.Settlement) error {
	return act(ctx, b.p, fast("settle booking", k.Claims[0].Scope, false), func() error { b.of.settle(k, s); return nil })
}

func (s *shared) settle(k progressive.Booking, how progressive.Settlement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range k.Claims {
		at := slices.IndexFunc(s.booked[c.Scope], func(b booking) bool { return b.id == k.ID })
		switch {
		case at < 0:
		case how.Unused:
			s.booked[c.Scope] = slices.Delete(s.booked[c.Scope], at, at+1)
		default:
			s.booked[c.Scope][at].at = time.Now()
		}
	}
}

// Hold implements [progressive.SharedBudget].
func (b remoteBudget) Hold(scope progressive.Scope, until time.Time) {
	if b.p.isCut(toShared) {
		return
	}
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	if until.After(b.of.held[scope]) {
		b.of.held[scope] = until
	}
}

// Replicas implements [progressive.SharedBudget].
func (b remoteBudget) Replicas() (int, bool) { return processes, !b.p.isCut(toShared) }
