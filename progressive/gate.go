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
	leastHold = 100 * time.Millisecond // after refusals that name no time
	// A typing indicator is shown at most this often in a chat. Several answers in it share one: users see no
	// difference.
	typingEvery = 4 * time.Second
)

// MemoryGate is a [Gate] for one process. In the narrowest scope with more than one permit, one is reserved for
// [PriorityFinal] tickets, available immediately or within one permit's time; typing indicators leave more. A pace that
// it learns from refusals applies for some minutes. Idle scopes use no resources.
//
// A ticket is blocked by at most one scope at a time, and waits in the queue of that scope. When a permit is returned there
// or time passes, the first of the queue is examined again: it is admitted, or moves to the queue of the next scope that
// blocks it. So a change costs no more than the tickets that it concerns, however many chats wait.
type MemoryGate struct {
	budget      func(Scope) Budget
	exhaustedAt time.Time // if not zero, every budget counts as used up at this time
	crashedAt   time.Time // if not zero, the previous process crashed, and one more second of each budget may be used
	holds       Holds     // nil if holds are not stored
	windows     Windows   // nil if used budgets are not stored
	log         *slog.Logger

	mu            sync.Mutex
	scopes        map[Scope]*scope
	storedHolds   map[Scope]time.Time   // stored holds of scopes that had no ticket yet
	storedWindows map[Scope]Window      // likewise, used budgets of the previous process
	unsavedScopes map[*scope]bool       // scopes with changes that are not stored yet
	taken         time.Time             // when changes were last taken to be stored
	saving        *time.Timer           // fires when they have to be stored; nil if there are none
	saveFailed    bool                  // the last attempt to store them failed, and was logged
	closed        bool                  // nothing is stored any more
	replicas      int                   // how many replicas share the budgets; this gate uses one share of each
	wakeQueue     priorityQueue[*scope] // scopes that change at a known time, the earliest first
	timer         *time.Timer
	timerAt       time.Time // when the timer fires; zero if it is stopped
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

// wait returns once t has a permit.
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

// submit gives t a permit, or queues it at the first scope that blocks it.
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

// abandon removes w, whose context ended, and reports whether it was still waiting. If not, it has a permit.
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

// forget removes all traces of w, which may unblock others.
func (g *MemoryGate) forget(w *waiter, now time.Time) {
	w.addWaiting(-1)
	for _, s := range w.scopes {
		s.users--
	}
	for _, s := range w.scopes {
		g.advance(s, now)
	}
}

// leave ends w's request, which ended with err.
func (g *MemoryGate) leave(w *waiter, err error) {
	s := g.settle(w, err)
	g.release(w, s)
}

// settle counts the request of w in its scopes, and adapts them to the platform's response in err. It returns the news
// for other replicas.
func (g *MemoryGate) settle(w *waiter, err error) (said Settlement) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if slow := (RetryAfter{}); errors.As(err, &slow) {
		said = g.learn(w, slow, now)
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
		s.recordUse(now, said.Scope == "")
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

// release gives the permits of w to others, and stores a long hold.
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

// admit gives w its permit. Tickets of lower priority wait as long as a final state waits in their chat, so they are examined
// again then.
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

// enqueue makes w wait in the queue of at.
func (g *MemoryGate) enqueue(w *waiter, at *scope, now time.Time) {
	w.queuedAt = at
	heap.Push(&at.queue, w)
	g.schedule(at, now)
}

// advance examines the queue of s: each ticket that s no longer blocks is admitted, or moves to the next scope that does.
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

// scope returns the scope of that name.
func (g *MemoryGate) scope(name Scope, now time.Time) *scope {
	if s := g.scopes[name]; s != nil {
		return s
	}
	return g.begin(&scope{name: name, Budget: g.budget(name)}, now)
}

// begin adds a new scope, in the state that was stored for it.
func (g *MemoryGate) begin(s *scope, now time.Time) *scope {
	s.replicas, s.index = g.replicas, -1
	if held, ok := g.storedHolds[s.name]; ok {
		s.closedUntil = maxTime(s.closedUntil, held)
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
