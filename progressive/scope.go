package progressive

import (
	"container/heap"
	"slices"
	"time"
)

// scope is one budget, who spends it, and who waits for it. While users is above 0 it is not forgotten.
type scope struct {
	name Scope
	Budget
	replicas       int                          // of how many equals we are one
	users          int                          // tickets that name it, waiting anywhere or inside
	inFlight       int                          // permits given and not yet left
	waiting        [PriorityFinal + 1]int       // tickets that wait anywhere and have this as their narrowest scope, by priority
	returned       []time.Time                  // when the last N permits were left, oldest first
	lastStream     time.Time                    // when text on the way was let in last
	closedUntil    time.Time                    // closed until then
	exhaustedUntil [PriorityFinal + 1]time.Time // what other replicas spent leaves nothing until then, by priority
	learned        Budget                       // what refusals taught, beside Budget
	learnedUntil   time.Time                    // until then it applies
	learnedAt      time.Time                    // when it was learned last
	kind           *scope                       // what all chats of its kind have learned; nil if it is no chat
	refusedChats   map[Scope]time.Time          // of a kind: when its chats were refused lately
	lastRefusal    refusal                      // of a bot: the last one of unknown scope
	hintUntil      time.Time                    // until then the platform lets in no more than
	hintLeft       int                          // so many
	nextTyping     time.Time
	queue          priorityQueue[*waiter] // requests that this scope holds up

	wake  time.Time
	index int // among the wakes; -1 if nothing will happen by time alone
}

func (s *scope) recordUse(now time.Time) {
	if s.returned = append(s.returned, now); len(s.returned) > max(s.N, s.learned.N) {
		s.returned = s.returned[1:]
	}
}

// hint takes over what the platform said. Those who are inside it may or may not have counted.
func (s *scope) hint(l BudgetHint, now time.Time) {
	allowed := l.Left - s.inFlight
	if s.hintUntil.After(now) {
		allowed = min(allowed, s.hintLeft) // answers may overtake each other
	}
	s.hintLeft, s.hintUntil = allowed, maxTime(s.hintUntil, now.Add(l.After))
}

// of returns the share of one of n equals, which is never nothing.
func (b Budget) of(n int) Budget {
	switch own := b.N / n; {
	case b.N == 0 || n == 1:
		return b
	case own > 0:
		return Budget{N: own, Per: b.Per, Reserve: (b.Reserve*own + b.N - 1) / b.N}
	}
	return Budget{N: 1, Per: b.Per * time.Duration(n) / time.Duration(b.N)}
}

// opens returns when w has a permit here, as far as is known now. ok is false if that depends on other requests, not on
// time.
func (s *scope) permitAt(w *waiter, now time.Time) (at time.Time, ok bool) {
	at = s.closedUntil
	if w.narrowest() == s {
		switch text := s.waiting[PriorityReply] + s.waiting[PriorityFirst] + s.waiting[PriorityStatus] + s.waiting[PriorityStream]; {
		case w.Priority < PriorityFinal && s.waiting[PriorityFinal] > 0, w.Priority == PriorityTyping && text > 0:
			return time.Time{}, false
		case w.Priority == PriorityTyping:
			at = maxTime(at, s.nextTyping)
		}
	}
	if w.Priority.streams() {
		at = maxTime(at, s.lastStream.Add(s.Pace))
	}
	if s.hintLeft <= 0 {
		at = maxTime(at, s.hintUntil)
	}
	at = maxTime(at, s.exhaustedUntil[w.Priority])
	free, ok := s.budgetPermitAt(w, s.Budget, now)
	if !ok {
		return time.Time{}, false
	}
	at = maxTime(at, free)
	for _, l := range []*scope{s, s.kind} {
		if l == nil || !now.Before(l.learnedUntil) {
			continue
		}
		if free, ok = s.budgetPermitAt(w, l.learned, now); !ok {
			return time.Time{}, false
		} else if free.After(l.learnedUntil) {
			free = l.learnedUntil
		}
		at = maxTime(at, free)
	}
	return at, true
}

// permit returns when w has a permit of budget all.
func (s *scope) budgetPermitAt(w *waiter, all Budget, now time.Time) (at time.Time, ok bool) {
	if all.N == 0 {
		return at, true
	}
	b := all.of(s.replicas)
	keep := w.reserve(s, b, w.Priority)
	if s.inFlight+keep >= b.N {
		return at, false
	}
	soon := w.borrow(s, b)
	at = s.freedAt(b, b.N-s.inFlight-max(keep-1, 0)) // one may be borrowed
	if keep > 0 {
		at = maxTime(at, s.freedAt(b, b.N-s.inFlight-keep).Add(-soon))
	}
	if w.spreadsEvenly(s) {
		at = maxTime(at, s.spreadAt(b, b.N-s.inFlight-keep, soon, now))
	}
	return at, true
}

// spread returns when the next of n permits may be taken if those that are left are taken evenly, until the window lets
// go of its oldest or soon before.
func (s *scope) spreadAt(b Budget, n int, soon time.Duration, now time.Time) time.Time {
	i := slices.IndexFunc(s.returned, func(left time.Time) bool { return left.Add(b.Per).After(now) })
	if i < 0 || n <= len(s.returned)-i {
		return time.Time{} // all are left, or none: then freed says when
	}
	last := s.returned[len(s.returned)-1]
	return last.Add(s.returned[i].Add(b.Per-soon).Sub(last) / time.Duration(n-(len(s.returned)-i)+1))
}

// freed is when so many permits of b are free. Those who are inside are not counted.
func (s *scope) freedAt(b Budget, n int) time.Time {
	if i := len(s.returned) - n; i >= 0 {
		return s.returned[i].Add(b.Per)
	}
	return time.Time{}
}

// idle is when nothing about s is worth remembering.
func (s *scope) idleAt() time.Time {
	at := maxTime(maxTime(s.closedUntil, s.learnedUntil), maxTime(s.hintUntil, s.nextTyping))
	at = maxTime(at, s.exhaustedUntil[PriorityTyping])
	at = maxTime(at, s.lastStream.Add(s.Pace))
	at = maxTime(at, s.lastRefusal.until.Add(sameMoment))
	if len(s.refusedChats) > 0 {
		at = maxTime(at, s.learnedUntil.Add(probeAfter)) // then one refusal is enough to know again
	}
	if n := len(s.returned); n > 0 {
		at = maxTime(at, s.returned[n-1].Add(s.of(s.replicas).Per))
	}
	return at
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// before reports whether s must be checked sooner than o.
func (s *scope) before(o *scope) bool { return s.wake.Before(o.wake) }

func (s *scope) place() *int { return &s.index }

// waiter is a ticket on its way in.
type waiter struct {
	Ticket
	scopes     []*scope
	reserving  *scope // the narrowest that has permits to keep
	rank       time.Time
	sequence   uint64
	admitted   chan struct{} // closed when it may go
	admittedAt time.Time     // when it went

	queuedAt *scope // where it is queued
	index    int
}

func (w *waiter) narrowest() *scope {
	if len(w.scopes) == 0 {
		return nil
	}
	return w.scopes[0]
}

// setKeeper finds where w leaves permits to those who matter more.
func (w *waiter) setReserving() {
	for _, s := range w.scopes {
		if s.N > 1 {
			w.reserving = s
			return
		}
	}
}

// keep returns how many permits a ticket like w of priority p leaves in s, of which b is our share: where it keeps some,
// what the budget says; and a sign a third of what many share.
func (w *waiter) reserve(s *scope, b Budget, p Priority) (n int) {
	switch {
	case w.reserving == s:
		n = b.reserve(p)
		if p.streams() {
			n = max(n, w.Owed)
		}
	case p == PriorityTyping:
		n = b.N / 3
	}
	return max(min(n, b.N-1), 0)
}

// soon returns for how long w may borrow a permit that it leaves to others in s.
func (w *waiter) borrow(s *scope, b Budget) time.Duration {
	if w.Priority == PriorityTyping || b.N == 0 || w.reserving == s && w.Priority.streams() && w.Owed >= w.reserve(s, b, w.Priority) {
		return 0
	}
	return b.Per / time.Duration(b.N)
}

// spreads reports whether w takes what it may have of s evenly.
func (w *waiter) spreadsEvenly(s *scope) bool {
	return w.reserving == s && s.Reserve > 0 && w.Priority == PriorityStream
}

// named is the scope of that name, or the narrowest without one.
func (w *waiter) scopeName(name Scope) Scope {
	if name == "" && len(w.Scopes) > 0 {
		return w.Scopes[0]
	}
	return name
}

func (w *waiter) addWaiting(n int) {
	if s := w.narrowest(); s != nil {
		s.waiting[w.Priority] += n
	}
}

// blockedAt returns the first scope that stops w. Waiters keep their order in every scope that blocks them.
func (w *waiter) blockedAt(now time.Time) *scope {
	for _, s := range w.scopes {
		if len(s.queue) > 0 && s.queue[0] != w && s.queue[0].beforeAt(s, w) {
			return s
		}
		if at, ok := s.permitAt(w, now); !ok || at.After(now) {
			return s
		}
	}
	return nil
}

func (w *waiter) before(o *waiter) bool { return w.beforeAt(w.queuedAt, o) }

// beforeAt reports whether w comes before o at s. Where there is a reserve that is a matter of priority first: an edit
// that waits because it has to leave permits to others is not in their way, however long it waits.
func (w *waiter) beforeAt(s *scope, o *waiter) bool {
	if s.Reserve > 0 && w.reserving == s && o.reserving == s && w.Priority != o.Priority {
		return w.Priority > o.Priority
	}
	if !w.rank.Equal(o.rank) {
		return w.rank.Before(o.rank)
	}
	return w.sequence < o.sequence
}

func (w *waiter) place() *int { return &w.index }

func (w *waiter) dequeue() {
	heap.Remove(&w.queuedAt.queue, w.index)
	w.queuedAt = nil
}
