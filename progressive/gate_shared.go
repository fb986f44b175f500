package progressive

import (
	"context"
	"sync"
	"time"
)

// SharedBudget tracks the budgets that several replicas share: used permits and holds. Its methods are safe for
// concurrent use and return within a second or two.
type SharedBudget interface {
	// Book takes a permit in every scope, or in none of them and returns which is full. After an error the outcome is
	// unknown: the backend is unreachable.
	Book(ctx context.Context, claims []Claim) (Booking, error)
	// Settle counts a booking from now on, or cancels it. A booking that is never settled counts for longer than a
	// request can take.
	Settle(ctx context.Context, b Booking, s Settlement) error
	// Hold closes scope until then for all replicas, even if the backend is unreachable now, or loses its data. It doesn't
	// block.
	Hold(scope Scope, until time.Time)
	// Replicas returns the number of replicas, as far as known, and whether the backend is reachable. It doesn't block.
	Replicas() (n int, reached bool)
}

// Claim requests one permit of a scope and leaves Keep permits to others: all of them available now, or one of them
// within Soon. With Even, the permits beyond those are spread evenly over the time until Soon before the oldest permit
// leaves the window.
type Claim struct {
	Scope Scope
	Budget
	Keep int
	Soon time.Duration
	Even bool
}

// Booking is the reply of a [SharedBudget].
type Booking struct {
	ID     string
	Claims []Claim
	Full   int           // index of the claim that failed; only set if Wait is not 0
	Wait   time.Duration // when to retry
}

// Settlement completes a booking.
type Settlement struct {
	Unused bool
	// Feedback from the platform about a scope: at most Left requests within After. Refused means that it closed the scope
	// for long, and Slower that the scope then runs at half its pace for some time.
	Scope   Scope
	Left    int
	After   time.Duration
	Refused bool
	Slower  bool
}

// SharedGate is a [Gate] whose budgets several replicas share. Tickets in one process are served in the order of a
// [MemoryGate]; between replicas the first request wins. While the backend is unreachable, each replica uses its share
// of every budget, by the last known number of replicas, and for one more minute after the backend returns: it has no
// record of the requests made meanwhile.
type SharedGate struct {
	local  *MemoryGate
	budget SharedBudget

	mu           sync.Mutex
	unreachable  bool      // the backend could not be reached last time
	dividedUntil time.Time // until then each replica uses only its share, as if the backend were still unreachable
}

// NewSharedGate returns a gate like [NewGate]. The other replicas also obey the holds that it starts with.
func NewSharedGate(l SharedBudget, budget func(Scope) Budget, options ...GateOption) *SharedGate {
	g := &SharedGate{local: NewGate(budget, options...), budget: l}
	for name, until := range g.local.storedHolds {
		l.Hold(name, until)
	}
	return g
}

// Enter implements [Gate].
func (g *SharedGate) Enter(ctx context.Context, t Ticket) (leave func(error), err error) {
	if t.UnshownSince.IsZero() {
		t.UnshownSince = time.Now() // so that it keeps its place in the queue through several attempts
	}
	for lost := false; ; {
		reached := g.divide() && !lost
		w, err := g.local.wait(ctx, t)
		if err != nil {
			return nil, err
		}
		if !reached {
			return once(func(err error) { g.release(w, g.local.settle(w, err)) }), nil
		}
		b, err := g.budget.Book(context.WithoutCancel(ctx), g.local.claims(w))
		switch {
		case err != nil:
			g.local.leave(w, ErrUnused)
			lost = true // try once more, with this replica's share
		case b.Wait == 0:
			return once(func(err error) { g.leave(w, b, err) }), nil
		case t.Priority == PriorityTyping:
			g.local.leave(w, ErrUnused)
			return nil, ErrNoPermit
		default:
			g.local.refuse(w, b.Claims[b.Full], b.Wait)
		}
	}
}

// divide sets this replica's share of the budgets, and reports whether the backend is reachable.
func (g *SharedGate) divide() (reached bool) {
	n, reached := g.budget.Replicas()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch now := time.Now(); {
	case !reached:
		g.unreachable = true
	case g.unreachable:
		g.unreachable, g.dividedUntil = false, now.Add(halvedFor)
	case !now.Before(g.dividedUntil):
		n = 1
	}
	g.local.setShare(n)
	return reached
}

// leave settles the request in this process and in the backend. If the backend is unreachable, the booking counts there
// until it expires.
func (g *SharedGate) leave(w *waiter, b Booking, err error) {
	s := g.local.settle(w, err)
	_ = g.budget.Settle(context.Background(), b, s) // it logs by itself that it is unreachable
	g.release(w, s)
}

// release gives the permits of w to others, and tells the other replicas about long holds.
func (g *SharedGate) release(w *waiter, s Settlement) {
	g.local.release(w, s)
	if s.Refused || s.closed() > longHold {
		g.budget.Hold(s.Scope, time.Now().Add(s.After))
	}
}

// closed returns for how long a scope is closed.
func (s Settlement) closed() time.Duration {
	if s.Left > 0 {
		return 0
	}
	return s.After
}

// claims returns what w needs of the shared budgets.
func (g *MemoryGate) claims(w *waiter) (all []Claim) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range w.scopes {
		c := Claim{Scope: s.name, Budget: s.Budget, Keep: w.reserve(s, s.Budget, w.Priority), Even: w.spreadsEvenly(s)}
		if c.Keep > 0 {
			c.Soon = w.borrow(s, s.Budget)
		}
		all = append(all, c)
	}
	return all
}

// refuse returns w's permit unused, because other replicas have used too much of c's scope. The same then applies for the
// given time to all requests of w's priority or below, and to all that leave as many permits as c.
func (g *MemoryGate) refuse(w *waiter, c Claim, wait time.Duration) {
	g.mu.Lock()
	now := time.Now()
	for _, s := range w.scopes {
		if s.name == c.Scope {
			for p := range s.exhaustedUntil {
				if Priority(p) <= w.Priority || w.reserve(s, s.Budget, Priority(p)) >= c.Keep {
					s.exhaustedUntil[p] = maxTime(s.exhaustedUntil[p], now.Add(wait))
				}
			}
		}
	}
	g.mu.Unlock()
	g.leave(w, ErrUnused)
}

// setShare makes this gate use one of n shares of every budget.
func (g *MemoryGate) setShare(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n == g.replicas {
		return
	}
	g.replicas = n
	now := time.Now()
	for _, s := range g.scopes {
		s.replicas = n
		g.advance(s, now)
	}
}
