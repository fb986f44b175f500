package progressive

import (
	"maps"
	"strings"
	"time"
)

const (
	shortWait      = 3 * time.Second // a longer wait is a penalty, and says nothing about the pace that is allowed
	lessonFor      = 5 * time.Minute // how long a learned pace applies; then the configured one is tried again
	halvedFor      = time.Minute     // how long a chat runs at half its pace after a long wait
	refusalsWithin = time.Minute     // refusals within this time count together
	refusalsNeeded = 3               // refusals in so many chats apply to all chats of the kind
	sameMoment     = 2 * time.Second // waits that end within this time have one cause: platforms count in whole seconds
	leastUse       = 4               // a scope of many chats learns a rate if it used at least this fraction (1/4) of its budget
)

// refusal is a refused request whose refusal did not name the full scope.
type refusal struct {
	chat  Scope
	until time.Time
}

// setKind connects the chat of w with the scope where all chats of its kind with the same bot learn together.
func (g *MemoryGate) setKind(w *waiter, now time.Time) {
	if len(w.scopes) < 2 || w.scopes[0].kind != nil {
		return
	}
	kind, _, _ := strings.Cut(string(w.scopes[0].name), "/")
	name := Scope(kind + " of " + string(w.scopes[len(w.scopes)-1].name))
	s := g.scopes[name]
	if s == nil {
		s = g.begin(&scope{name: name}, now)
	}
	s.users++
	w.scopes[0].kind = s
}

// learn closes the scope of a refusal until it is over, and adapts its pace. All refusals of requests that were in flight
// together have one cause, so only the first one teaches. Requests that were refused teach nothing either: a pace is
// learned only from those that the platform accepted shortly before.
func (g *MemoryGate) learn(w *waiter, slow RetryAfter, now time.Time) Settlement {
	after := max(slow.After, leastHold)
	s := g.scope(g.refusedScope(w, slow, now), now)
	said := Settlement{Scope: s.name, After: after, Refused: after > shortWait}
	switch first := s.beginsMoment(w, now); {
	case !first:
	case s != w.narrowest():
		s.learnRate(after, now)
	case said.Refused:
		said.Slower = s.halvePace(w, now.Add(after))
	case s.learnPace(w, after, now):
		g.teachKind(w, after, now)
	}
	s.closedUntil = maxTime(s.closedUntil, now.Add(after))
	g.change(s)
	g.schedule(s, now)
	return said
}

// beginsMoment reports whether the refusal of w is the first one of those that were in flight together.
func (s *scope) beginsMoment(w *waiter, now time.Time) bool {
	if !w.admittedAt.After(s.refusedAt) {
		return false
	}
	s.refusedAt = now
	return true
}

// refusedScope returns the scope that a refusal applies to. If the platform does not say, it is the chat. But if another
// chat was refused until the same moment, and the chat's own requests don't explain the refusal, it is the bot's budget.
func (g *MemoryGate) refusedScope(w *waiter, slow RetryAfter, now time.Time) Scope {
	if slow.Scope != "" || len(w.scopes) < 2 {
		return w.scopeName(slow.Scope)
	}
	chat, bot := w.scopes[0], w.scopes[len(w.scopes)-1]
	was, is := bot.lastRefusal, refusal{chat.name, now.Add(slow.After)}
	bot.lastRefusal = is
	same := was.chat != "" && was.chat != is.chat && is.until.Sub(was.until).Abs() < sameMoment
	if !same || slow.After <= shortWait && chat.acceptedSince(w.admittedAt.Add(-slow.After)) > 0 {
		return chat.name
	}
	return bot.name
}

// acceptedSince returns the number of requests that the platform accepted since then, at most the budget's.
func (s *scope) acceptedSince(since time.Time) (n int) {
	for _, at := range s.accepted {
		if !at.Before(since) {
			n++
		}
	}
	return n
}

// halvePace makes a chat run at half its pace for some time after a long wait, and reports whether it does. A chat that made
// no other request within its window was not refused for its pace.
func (s *scope) halvePace(w *waiter, until time.Time) bool {
	if s.acceptedSince(w.admittedAt.Add(-s.Per)) == 0 {
		return false
	}
	s.halvedUntil = maxTime(s.halvedUntil, until.Add(halvedFor))
	return true
}

// learnPace limits a chat to one request per wait, and reports whether it does: only if it made another request within
// that time. If it had learned a pace, that was too fast, and the waits add up, to at most twice the platform's wait.
func (s *scope) learnPace(w *waiter, wait time.Duration, now time.Time) bool {
	within := wait
	if now.Before(s.learnedUntil) && s.learned.N == 1 {
		within = max(wait, s.learned.Per)
	}
	if s.acceptedSince(w.admittedAt.Add(-within)) == 0 {
		return false
	}
	s.setPace(wait, now)
	return true
}

// setPace sets the pace that learnPace describes.
func (s *scope) setPace(wait time.Duration, now time.Time) {
	pace := wait
	if now.Before(s.learnedUntil) && s.learned.N == 1 {
		pace = max(s.learned.Per, min(s.learned.Per+wait, 2*wait))
	}
	s.learned, s.learnedUntil = Budget{N: 1, Per: pace}, now.Add(lessonFor)
}

// teachKind makes all chats of a kind learn the pace of the chat of w, if enough of them had to wait within a minute. Each
// time takes as many chats, so that one refused chat delays no other.
func (g *MemoryGate) teachKind(w *waiter, wait time.Duration, now time.Time) {
	k := w.narrowest().kind
	if k == nil {
		return
	}
	if k.refusedChats == nil {
		k.refusedChats = map[Scope]time.Time{}
	}
	maps.DeleteFunc(k.refusedChats, func(_ Scope, at time.Time) bool { return now.Sub(at) >= refusalsWithin })
	k.refusedChats[w.narrowest().name] = now
	if len(k.refusedChats) >= refusalsNeeded {
		clear(k.refusedChats)
		k.setPace(wait, now)
		g.change(k)
	}
}

// learnRate limits a scope of many chats to as many requests per wait as the platform accepted in the last one, or fewer if
// that was learned already and was too many. A scope that used little of its budget was refused for another reason, and
// waits that are long say nothing about a rate: then it is only closed.
func (s *scope) learnRate(wait time.Duration, now time.Time) {
	n := s.acceptedSince(now.Add(-wait))
	if wait > shortWait || n == 0 || time.Duration(leastUse*n)*s.Per < time.Duration(s.N)*wait {
		return
	}
	if now.Before(s.learnedUntil) && s.learned.Per == wait {
		n = max(min(n, s.learned.N)*3/4, 1)
	}
	s.learned, s.learnedUntil = Budget{N: n, Per: wait}, now.Add(lessonFor)
}
