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
	leastHold = 100 * time.Millisecond // for refusals that name no time
	signEvery = 4 * time.Second        // of all who type in one chat (ST-15)
)

// MemoryGate is a [Gate] for one process. In the narrowest scope with more than one permit, one is reserved for [Final]
// tickets, available immediately or within one permit's time; typing indicators leave more. What refusals teach it
// applies for some minutes. Idle scopes use no resources.
type MemoryGate struct {
	budget  func(Scope) Budget
	spent   time.Time // every window was full then; zero if it was not
	crashed time.Time // one more second of every budget may have been spent by then; zero if not
	holds   Holds     // nil if holds end with the process
	windows Windows   // nil if what was spent is forgotten with the process
	log     *slog.Logger

	mu      sync.Mutex
	scopes  map[Scope]*scope
	held    map[Scope]time.Time   // of scopes without a ticket so far
	saved   map[Scope]Window      // likewise, of the process before
	changed map[*scope]bool       // what is to be saved
	saving  *time.Timer           // until it is; nil if nothing is to be saved
	unsaved bool                  // the last save failed
	ended   bool                  // nothing is to be saved any more
	share   int                   // of how many equals this gate is one
	wakes   priorityQueue[*scope] // the scopes where time alone changes something
	timer   *time.Timer
	armed   time.Time // what the timer is set to; zero if it is not
	turn    uint64
}

// GateOption configures the initial state of a [MemoryGate].
type GateOption func(*MemoryGate)

// NewGate returns a gate with the budgets that budget returns for each scope. budget must not block.
func NewGate(budget func(Scope) Budget, options ...GateOption) *MemoryGate {
	g := &MemoryGate{budget: budget, scopes: map[Scope]*scope{}, share: 1}
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
	w, err := g.ask(t)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.in:
	case <-ctx.Done():
		if g.giveUp(w) {
			return nil, context.Cause(ctx)
		}
	}
	return w, nil
}

// ask lets t in, or queues it where it has to wait first.
func (g *MemoryGate) ask(t Ticket) (*waiter, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.turn++
	if t.Fresh.IsZero() {
		t.Fresh = now
	}
	w := &waiter{Ticket: t, rank: t.Fresh.Add(-t.Priority.headStart()), turn: g.turn, in: make(chan struct{})}
	for _, name := range t.Scopes {
		s := g.scope(name, now)
		s.users++
		w.scopes = append(w.scopes, s)
	}
	g.setKind(w, now)
	w.setKeeper()
	w.count(1)
	switch at := w.blockedAt(now); {
	case at == nil:
		g.admit(w, now)
	case t.Priority == PriorityTyping:
		g.drop(w, now)
		return nil, ErrNoPermit
	default:
		g.park(w, at, now)
	}
	return w, nil
}

// giveUp removes w, and reports whether it was still waiting.
func (g *MemoryGate) giveUp(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.at == nil {
		return false
	}
	w.unpark()
	g.drop(w, time.Now())
	return true
}

// drop forgets that w ever asked.
func (g *MemoryGate) drop(w *waiter, now time.Time) {
	w.count(-1)
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
		s.inside--
		if said.Unused {
			s.allowed++
			if s.edited.Equal(w.begun) {
				s.edited = time.Time{}
			}
			continue
		}
		s.spend(now)
		g.change(s)
	}
	if l := (BudgetHint{}); errors.As(err, &l) {
		s := g.scope(w.named(l.Scope), now)
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
	w.count(-1)
	w.begun = now
	for _, s := range w.scopes {
		s.inside++
		s.allowed--
		if w.Priority.streams() {
			s.edited = now
		}
	}
	if w.Priority == PriorityTyping && len(w.scopes) > 0 {
		w.scopes[0].nextSign = now.Add(signEvery)
	}
	close(w.in)
	if w.Priority == Final && len(w.scopes) > 0 {
		g.advance(w.scopes[0], now)
	}
}

func (g *MemoryGate) park(w *waiter, at *scope, now time.Time) {
	w.at = at
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
		w.unpark()
		if at == nil {
			g.admit(w, now)
		} else {
			g.park(w, at, now)
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
	s.share, s.index = g.share, -1
	if held, ok := g.held[s.name]; ok {
		s.slower(held)
		delete(g.held, s.name)
	}
	g.restore(s, now)
	if !g.spent.IsZero() && now.Before(g.spent.Add(s.Per)) {
		for range s.N {
			s.left = append(s.left, g.spent)
		}
	}
	g.scopes[s.name] = s
	return s
}
