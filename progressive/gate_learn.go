package progressive

import (
	"maps"
	"strings"
	"time"
)

const (
	shortWait      = 3 * time.Second // a longer wait is a penalty, and says nothing about the pace that is allowed
	probeAfter     = 5 * time.Minute // without a refusal, after which the configured pace is tried again
	halvedFor      = time.Minute     // how long a scope runs at half its pace after a long wait
	refusalsWithin = time.Minute     // refusals within this time count together
	refusalsNeeded = 3               // refusals in so many chats apply to all chats of the kind
	sameMoment     = 2 * time.Second // refusals within this time have one cause: platforms count in whole seconds
)

// refusal is a refused request of which the platform did not say which scope was full.
type refusal struct {
	chat      Scope
	at, until time.Time
}

// setKind connects the chat of w with the scope in which all chats of its kind with the same bot learn together.
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

// learn closes the scope of a refusal until it is over, and adapts its pace. After a short wait, a chat makes one request
// per such wait; if three chats had to wait within a minute, all chats of their kind with that bot do. A scope of many
// chats then makes as many requests per wait as it just made. That applies until no request was refused for five minutes.
// After a long wait only the scope itself is slower, for a minute.
func (g *MemoryGate) learn(w *waiter, slow RetryAfter, now time.Time) Scope {
	after := max(slow.After, leastHold)
	s := g.scope(g.refusedScope(w, slow, now), now)
	switch {
	case after > shortWait:
		s.halvePace(now.Add(after))
	case s == w.narrowest():
		s.learnPace(w, after, now)
		if k := s.kind; k != nil && k.noteRefusal(s.name, now) {
			k.learnPace(w, after, now)
			g.change(k)
		}
	default:
		s.learnRate(w, after, now)
	}
	s.closedUntil = maxTime(s.closedUntil, now.Add(after))
	g.change(s)
	g.schedule(s, now)
	return s.name
}

// refusedScope returns the scope that a refusal applies to. If the platform does not say, it is the chat. But if another
// chat was refused at the same moment, or until the same moment, and the chat's own requests don't explain the refusal, it
// is the bot's budget.
func (g *MemoryGate) refusedScope(w *waiter, slow RetryAfter, now time.Time) Scope {
	if slow.Scope != "" || len(w.scopes) < 2 {
		return w.scopeName(slow.Scope)
	}
	chat, bot := w.scopes[0], w.scopes[len(w.scopes)-1]
	was, is := bot.lastRefusal, refusal{chat.name, now, now.Add(slow.After)}
	bot.lastRefusal = is
	same := was.chat != "" && was.chat != is.chat && (is.at.Sub(was.at) < sameMoment || is.until.Sub(was.until).Abs() < sameMoment)
	if !same || slow.After <= shortWait && chat.usesSince(w.admittedAt.Add(-slow.After)) > 0 {
		return chat.name
	}
	return bot.name
}

// usesSince returns the number of requests since then, at most the budget's.
func (s *scope) usesSince(since time.Time) (n int) {
	for _, left := range s.returned {
		if left.After(since) {
			n++
		}
	}
	return n
}

// halvePace closes s until then, and makes it run at half its pace for some time after.
func (s *scope) halvePace(until time.Time) {
	b := s.Budget
	if time.Now().Before(s.learnedUntil) {
		b = s.learned
	}
	s.closedUntil = maxTime(s.closedUntil, until)
	s.learned, s.learnedUntil = Budget{N: b.N, Per: 2 * b.Per}, maxTime(s.learnedUntil, s.closedUntil.Add(halvedFor))
}

// learnPace limits s to one request per wait. A refusal of a request that was made after s had learned a pace means that
// this pace was too fast, so the waits add up.
func (s *scope) learnPace(w *waiter, wait time.Duration, now time.Time) {
	if now.Before(s.learnedUntil) && s.learned.N == 1 {
		if w.admittedAt.After(s.learnedAt) {
			wait += s.learned.Per
		}
		wait = max(wait, s.learned.Per)
	}
	s.learned, s.learnedUntil, s.learnedAt = Budget{N: 1, Per: wait}, now.Add(probeAfter), now
}

// learnRate limits s to as many requests per wait as it made in the last one, or fewer if that was learned already and was
// too many.
func (s *scope) learnRate(w *waiter, wait time.Duration, now time.Time) {
	n := max(s.usesSince(now.Add(-wait)), 1)
	if now.Before(s.learnedUntil) && s.learned.Per == wait {
		n = min(n, s.learned.N)
		if w.admittedAt.After(s.learnedAt) {
			n = max(n*3/4, 1)
		}
	}
	s.learned, s.learnedUntil, s.learnedAt = Budget{N: n, Per: wait}, now.Add(probeAfter), now
}

// noteRefusal notes that a chat was refused, and reports whether all chats of this kind should learn from it: enough of them
// were refused, or they have learned before.
func (s *scope) noteRefusal(chat Scope, now time.Time) bool {
	if s.refusedChats == nil {
		s.refusedChats = map[Scope]time.Time{}
	}
	maps.DeleteFunc(s.refusedChats, func(_ Scope, at time.Time) bool { return now.Sub(at) >= refusalsWithin })
	s.refusedChats[chat] = now
	return len(s.refusedChats) >= refusalsNeeded || s.learned.N > 0
}
