package progressive

import (
	"container/heap"
	"slices"
	"time"
)

// scope is one budget: how much of it is used, and which tickets wait for it. It is removed once it has no users and
// nothing about it is worth remembering.
type scope struct {
	name Scope
	Budget
	replicas       int                          // how many replicas share the budget
	users          int                          // tickets that need it, waiting or with a permit
	inFlight       int                          // permits that are not returned yet
	waiting        [PriorityFinal + 1]int       // tickets that wait anywhere and have this as their narrowest scope (their chat), by priority
	returned       []time.Time                  // when the last N permits were returned, oldest first
	lastStream     time.Time                    // when a stream edit was admitted last
	closedUntil    time.Time                    // nothing is admitted before: the platform refused a request
	exhaustedUntil [PriorityFinal + 1]time.Time // other replicas have used up the budget until then, by priority
	learned        Budget                       // a budget learned from refusals, in addition to Budget
	learnedUntil   time.Time                    // the learned budget applies until then
	halvedUntil    time.Time                    // it runs at half its pace until then
	refusedAt      time.Time                    // when the platform refused a request; all that were in flight then belong to that moment
	accepted       []time.Time                  // when the last requests ended that the platform did not refuse, oldest first
	kind           *scope                       // of a chat: the scope where all chats of its kind learn together
	refusedChats   map[Scope]time.Time          // of a kind: when its chats were refused last, since it learned from them
	lastRefusal    refusal                      // of a bot: the last refusal that named no scope
	hintUntil      time.Time                    // the platform reported a remaining budget that applies until then
	hintLeft       int                          // the remaining budget
	nextTyping     time.Time
	queue          priorityQueue[*waiter] // tickets that this scope blocks

	wake  time.Time
	index int // in the wake queue; -1 if it is not there
}

// recordUse counts a request that ended now. Only the last N are kept: older ones have left every window.
func (s *scope) recordUse(now time.Time, accepted bool) {
	keep := func(all []time.Time) []time.Time {
		if all = append(all, now); len(all) > max(s.N, s.learned.N, 1) {
			all = all[1:]
		}
		return all
	}
	s.returned = keep(s.returned)
	if accepted {
		s.accepted = keep(s.accepted)
	}
}

// hint applies the remaining budget that the platform reported. It may not include requests in flight, so those are
// subtracted.
func (s *scope) hint(l BudgetHint, now time.Time) {
	allowed := l.Left - s.inFlight
	if s.hintUntil.After(now) {
		allowed = min(allowed, s.hintLeft) // responses may arrive out of order: the lower one is the newer one
	}
	s.hintLeft, s.hintUntil = allowed, maxTime(s.hintUntil, now.Add(l.After))
}

// of returns the share of one of n replicas. It is never empty: with fewer permits than replicas, each gets one permit in a
// longer time.
func (b Budget) of(n int) Budget {
	switch own := b.N / n; {
	case b.N == 0 || n == 1:
		return b
	case own > 0:
		return Budget{N: own, Per: b.Per, Reserve: (b.Reserve*own + b.N - 1) / b.N}
	}
	return Budget{N: 1, Per: b.Per * time.Duration(n) / time.Duration(b.N)}
}

// permitAt returns when s admits w, as far as is known now. ok is false if that depends on other requests rather than on
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
	for _, l := range s.lessons(now) {
		if free, ok = s.budgetPermitAt(w, l.Budget, now); !ok {
			return time.Time{}, false
		} else if free.After(l.until) {
			free = l.until
		}
		at = maxTime(at, free)
	}
	return at, true
}

// lesson is a budget that applies in addition for some time.
type lesson struct {
	Budget
	until time.Time
}

// lessons returns what s and its kind have learned. Half a pace is that of the budget, or of a learned one.
func (s *scope) lessons(now time.Time) (all []lesson) {
	for _, l := range []*scope{s, s.kind} {
		if l != nil && now.Before(l.learnedUntil) {
			all = append(all, lesson{l.learned, l.learnedUntil})
		}
	}
	if !now.Before(s.halvedUntil) {
		return all
	}
	halved := []lesson{{Budget{N: s.N, Per: 2 * s.Per}, s.halvedUntil}}
	for _, l := range all {
		halved = append(halved, lesson{Budget{N: l.N, Per: 2 * l.Per}, s.halvedUntil})
	}
	return append(halved, all...)
}

// budgetPermitAt returns when w gets a permit of the budget all. This process has a share of that budget. A request
// must leave some permits to those of higher priority. One of these can be borrowed if another will be returned soon.
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
	at = s.freedAt(b, b.N-s.inFlight-max(keep-1, 0)) // with one borrowed
	if keep > 0 {
		at = maxTime(at, s.freedAt(b, b.N-s.inFlight-keep).Add(-soon))
	}
	if w.spreadsEvenly(s) {
		at = maxTime(at, s.spreadAt(b, b.N-s.inFlight-keep, soon, now))
	}
	return at, true
}

// spreadAt returns when the next of n permits can be used, if the unused ones are spread evenly over the time until the
// oldest use leaves the window. Edits become rarer in this way as the budget shrinks, instead of stopping suddenly.
func (s *scope) spreadAt(b Budget, n int, soon time.Duration, now time.Time) time.Time {
	i := slices.IndexFunc(s.returned, func(left time.Time) bool { return left.Add(b.Per).After(now) })
	if i < 0 || n <= len(s.returned)-i {
		return time.Time{} // none is used, or all are: then freedAt returns the time
	}
	last := s.returned[len(s.returned)-1]
	return last.Add(s.returned[i].Add(b.Per-soon).Sub(last) / time.Duration(n-(len(s.returned)-i)+1))
}

// freedAt returns when n permits of b are free, not counting requests in flight.
func (s *scope) freedAt(b Budget, n int) time.Time {
	if i := len(s.returned) - n; i >= 0 {
		return s.returned[i].Add(b.Per)
	}
	return time.Time{}
}

// idleAt returns when the state of s is the same as that of a new scope, so that it can be removed.
func (s *scope) idleAt() time.Time {
	at := maxTime(maxTime(s.closedUntil, s.learnedUntil), maxTime(s.hintUntil, s.nextTyping))
	at = maxTime(at, s.halvedUntil)
	at = maxTime(at, s.exhaustedUntil[PriorityTyping])
	at = maxTime(at, s.lastStream.Add(s.Pace))
	at = maxTime(at, s.lastRefusal.until.Add(sameMoment))
	for _, refused := range s.refusedChats {
		at = maxTime(at, refused.Add(refusalsWithin))
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

// before orders the wake queue.
func (s *scope) before(o *scope) bool { return s.wake.Before(o.wake) }

func (s *scope) place() *int { return &s.index }

// waiter is a ticket that waits, or has a permit.
type waiter struct {
	Ticket
	scopes     []*scope
	reserving  *scope // the scope where it leaves permits to others; nil if there is none
	rank       time.Time
	sequence   uint64
	admitted   chan struct{} // closed once it has a permit
	admittedAt time.Time     // when it got the permit

	queuedAt *scope // the scope that blocks it; nil if none does
	index    int
}

func (w *waiter) narrowest() *scope {
	if len(w.scopes) == 0 {
		return nil
	}
	return w.scopes[0]
}

// setReserving chooses the scope where w leaves permits to requests of higher priority: the narrowest one that has more
// than one permit.
func (w *waiter) setReserving() {
	for _, s := range w.scopes {
		if s.N > 1 {
			w.reserving = s
			return
		}
	}
}

// reserve returns how many permits a ticket like w, of priority p, leaves to others in s. b is this process's share of
// the scope's budget. In its reserving scope the budget and the final state decide. Typing indicators leave a third of
// every scope.
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

// borrow returns for how long w can borrow a permit of s that is reserved for others. It can't if it would use one that the
// final state of its own answer needs.
func (w *waiter) borrow(s *scope, b Budget) time.Duration {
	if w.Priority == PriorityTyping || b.N == 0 || w.reserving == s && w.Priority.streams() && w.Owed >= w.reserve(s, b, w.Priority) {
		return 0
	}
	return b.Per / time.Duration(b.N)
}

// spreadsEvenly reports whether w uses its part of s evenly over time. Only stream edits do: everything else is awaited.
func (w *waiter) spreadsEvenly(s *scope) bool {
	return w.reserving == s && s.Reserve > 0 && w.Priority == PriorityStream
}

// scopeName returns name, or the narrowest scope if the platform's response named none.
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

// blockedAt returns the first scope that blocks w, or nil. A ticket never overtakes an earlier one that waits at the same
// scope.
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

// beforeAt reports whether w comes before o at s. In a scope with a reserve, priority decides first: an edit that waits
// because it has to leave permits to others must not block them, however long it waits. In their chat, others wait for a final state
// (see permitAt), so none of them is before it.
func (w *waiter) beforeAt(s *scope, o *waiter) bool {
	if final := w.Priority == PriorityFinal; final != (o.Priority == PriorityFinal) && w.narrowest() == s && o.narrowest() == s {
		return final
	}
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
