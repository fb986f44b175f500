package progressive

import (
	"maps"
	"strings"
	"time"
)

const (
	shortWait      = 3 * time.Second // a longer wait says nothing about a pace
	probeAfter     = 5 * time.Minute // without a refusal, after which more is tried again
	halvedFor      = time.Minute     // how long a scope keeps half its pace after a long wait
	refusalsWithin = time.Minute     // in which refusals in several chats
	refusalsNeeded = 3               // tell of all chats of that kind
	sameMoment     = 2 * time.Second // platforms count in whole seconds
)

// refusal is one of unknown scope.
type refusal struct {
	chat      Scope
	at, until time.Time
}

// setKind has the chat of w learn from others of its kind with the same bot.
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

// learn closes the scope of a refusal and adapts its pace. A short wait teaches a chat to make one request per wait, and
// if three chats were told so within a minute, all of their kind with that bot; a scope of many chats learns to make as
// many per wait as it just made. That holds until no request was refused for five minutes. After a long wait only the
// scope itself is slower, for a minute.
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

// blame returns the scope that a refusal applies to. If the platform does not say, it is the chat, unless another was
// refused at the same moment, or until the same moment: that is the bot, if the chat's own requests don't explain it.
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

// made counts the requests since then, up to the budget.
func (s *scope) usesSince(since time.Time) (n int) {
	for _, left := range s.returned {
		if left.After(since) {
			n++
		}
	}
	return n
}

// slower has s run at half its pace for some time after a hold.
func (s *scope) halvePace(until time.Time) {
	b := s.Budget
	if time.Now().Before(s.learnedUntil) {
		b = s.learned
	}
	s.closedUntil = maxTime(s.closedUntil, until)
	s.learned, s.learnedUntil = Budget{N: b.N, Per: 2 * b.Per}, maxTime(s.learnedUntil, s.closedUntil.Add(halvedFor))
}

// teach has s make one request per wait, or fewer if that was too many.
func (s *scope) learnPace(w *waiter, wait time.Duration, now time.Time) {
	if now.Before(s.learnedUntil) && s.learned.N == 1 {
		if w.admittedAt.After(s.learnedAt) {
			wait += s.learned.Per
		}
		wait = max(wait, s.learned.Per)
	}
	s.learned, s.learnedUntil, s.learnedAt = Budget{N: 1, Per: wait}, now.Add(probeAfter), now
}

// restrain has s make as many requests per wait as in the last one, or fewer if that was too many.
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

// hear notes that a chat was refused, and reports whether that says something of its kind: enough chats were, or it is
// known already.
func (s *scope) noteRefusal(chat Scope, now time.Time) bool {
	if s.refusedChats == nil {
		s.refusedChats = map[Scope]time.Time{}
	}
	maps.DeleteFunc(s.refusedChats, func(_ Scope, at time.Time) bool { return now.Sub(at) >= refusalsWithin })
	s.refusedChats[chat] = now
	return len(s.refusedChats) >= refusalsNeeded || s.learned.N > 0
}
