package progressive

import (
	"container/heap"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	leastHold   = 100 * time.Millisecond // for refusals that name no time
	typingEvery = 4 * time.Second        // of all who type in one chat (ST-15)
)

// MemoryGate is a [Gate] for one process. In the narrowest scope with more than one permit, one is reserved for [Final]
// tickets, available immediately or within one permit's time; typing indicators leave more. What refusals teach it
// applies for some minutes. Idle scopes use no resources.
type MemoryGate struct {
	budget      func(Scope) Budget
	exhaustedAt time.Time // every window was full then; zero if it was not
	crashedAt   time.Time // one more second of every budget may have been spent by then; zero if not
	holds       Holds     // nil if holds end with the process
	windows     Windows   // nil if what was spent is forgotten with the process
	log         *slog.Logger

	mu            sync.Mutex
	scopes        map[Scope]*scope
	storedHolds   map[Scope]time.Time   // of scopes without a ticket so far
	storedWindows map[Scope]Window      // likewise, of the process before
	unsavedScopes map[*scope]bool       // what is to be saved
	saving        *time.Timer           // until it is; nil if nothing is to be saved
	saveFailed    bool                  // the last save failed
	closed        bool                  // nothing is to be saved any more
	replicas      int                   // of how many equals this gate is one
	wakeQueue     priorityQueue[*scope] // the scopes where time alone changes something
	timer         *time.Timer
	timerAt       time.Time // what the timer is set to; zero if it is not
	sequence      uint64
}

// GateOption configures the initial state of a [MemoryGate].
type GateOption func(*MemoryGate)

// NewGate returns a gate with the budgets that budget returns for each scope. budget must not block.
func NewGate(budget func(Scope) Budget, options ...GateOption) *MemoryGate {
	g := &MemoryGate{budget: budget, scopes: map[Scope]*scope{}, replicas: 1}
	for _, o := range options {
		o(g)
	}
	return g
}

// Enter implements [Gate].
func (g *MemoryGate) Enter(ctx context.Context, t Ticket) (leave func(error), err error) {
	w, err := g.wait(ctx, t)
	if err != nil {
		return nil, err
	}
	return once(func(err error) { g.leave(w, err) }), nil
}

func once(leave func(error)) func(error) {
	var once sync.Once
	return func(err error) { once.Do(func() { leave(err) }) }
}

// wait returns once t is let in.
func (g *MemoryGate) wait(ctx context.Context, t Ticket) (*waiter, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w, err := g.submit(t)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.admitted:
	case <-ctx.Done():
		if g.abandon(w) {
			return nil, context.Cause(ctx)
		}
	}
	return w, nil
}

// ask lets t in, or queues it where it has to wait first.
func (g *MemoryGate) submit(t Ticket) (*waiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.sequence++
	if t.UnshownSince.IsZero() {
		t.UnshownSince = now
	}
	w := &waiter{Ticket: t, rank: t.UnshownSince.Add(-t.Priority.headStart()), sequence: g.sequence, admitted: make(chan struct{})}
	for _, name := range t.Scopes {
		s := g.scope(name, now)
		s.users++
		w.scopes = append(w.scopes, s)
	}
	g.setKind(w, now)
	w.setReserving()
	w.addWaiting(1)
	switch at := w.blockedAt(now); {
	case at == nil:
		g.admit(w, now)
	case t.Priority == PriorityTyping:
		g.forget(w, now)
		return nil, ErrNoPermit
	default:
		g.enqueue(w, at, now)
	}
	return w, nil
}

// giveUp removes w, and reports whether it was still waiting.
func (g *MemoryGate) abandon(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.queuedAt == nil {
		return false
	}
	w.dequeue()
	g.forget(w, time.Now())
	return true
}

// drop forgets that w ever asked.
func (g *MemoryGate) forget(w *waiter, now time.Time) {
	w.addWaiting(-1)
	for _, s := range w.scopes {
		s.users--
	}
	for _, s := range w.scopes {
		g.advance(s, now)
	}
}

// leave ends w's request.
func (g *MemoryGate) leave(w *waiter, err error) {
	s := g.settle(w, err)
	g.release(w, s)
}

// settle counts what w has spent and learns from err. It returns what other replicas have to know.
func (g *MemoryGate) settle(w *waiter, err error) (said Settlement) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if slow := (RetryAfter{}); errors.As(err, &slow) {
		after := max(slow.After, leastHold)
		said = Settlement{Scope: g.learn(w, slow, now), After: after, Refused: after > shortWait}
	}
	said.Unused = errors.Is(err, ErrUnused)
	for _, s := range w.scopes {
		s.inFlight--
		if said.Unused {
			s.hintLeft++
			if s.lastStream.Equal(w.admittedAt) {
				s.lastStream = time.Time{}
			}
			continue
		}
		s.recordUse(now)
		g.change(s)
	}
	if l := (BudgetHint{}); errors.As(err, &l) {
		s := g.scope(w.scopeName(l.Scope), now)
		s.hint(l, now)
		g.change(s)
		g.schedule(s, now)
		if said.Scope == "" {
			said.Scope, said.Left, said.After = s.name, max(l.Left, 0), l.After
		}
	}
	return said
}

// release lets others in after w, and stores a long hold.
func (g *MemoryGate) release(w *waiter, said Settlement) {
	g.mu.Lock()
	now := time.Now()
	for _, s := range w.scopes {
		s.users--
	}
	for _, s := range w.scopes {
		g.advance(s, now)
	}
	g.mu.Unlock()
	if g.holds != nil && said.closed() > longHold {
		g.save(said.Scope, now.Add(said.After))
	}
}

// admit lets w in. Its chat may have waited for that, if w is a final.
func (g *MemoryGate) admit(w *waiter, now time.Time) {
	w.addWaiting(-1)
	w.admittedAt = now
	for _, s := range w.scopes {
		s.inFlight++
		s.hintLeft--
		if w.Priority.streams() {
			s.lastStream = now
		}
	}
	if w.Priority == PriorityTyping && len(w.scopes) > 0 {
		w.scopes[0].nextTyping = now.Add(typingEvery)
	}
	close(w.admitted)
	if w.Priority == PriorityFinal && len(w.scopes) > 0 {
		g.advance(w.scopes[0], now)
	}
}

func (g *MemoryGate) enqueue(w *waiter, at *scope, now time.Time) {
	w.queuedAt = at
	heap.Push(&at.queue, w)
	g.schedule(at, now)
}

// advance moves on those who wait at s: in, or to the next scope that stops them.
func (g *MemoryGate) advance(s *scope, now time.Time) {
	for len(s.queue) > 0 {
		w := s.queue[0]
		at := w.blockedAt(now)
		if at == s {
			break
		}
		w.dequeue()
		if at == nil {
			g.admit(w, now)
		} else {
			g.enqueue(w, at, now)
		}
	}
	g.schedule(s, now)
}

// scope finds or makes the scope of that name.
func (g *MemoryGate) scope(name Scope, now time.Time) *scope {
	if s := g.scopes[name]; s != nil {
		return s
	}
	return g.begin(&scope{name: name, Budget: g.budget(name)}, now)
}

// begin makes s known, with what was stored of it.
func (g *MemoryGate) begin(s *scope, now time.Time) *scope {
	s.replicas, s.index = g.replicas, -1
	if held, ok := g.storedHolds[s.name]; ok {
		s.halvePace(held)
		delete(g.storedHolds, s.name)
	}
	g.restore(s, now)
	if !g.exhaustedAt.IsZero() && now.Before(g.exhaustedAt.Add(s.Per)) {
		for range s.N {
			s.returned = append(s.returned, g.exhaustedAt)
		}
	}
	g.scopes[s.name] = s
	return s
}
