package schedule

import (
	"math"
	"sync"
	"time"

	"parley/core/chat"
)

// Limits on answers to bots.
const (
	pairTurns  = 20          // of one bot in one room
	pairWindow = time.Minute // within this
	pairCool   = time.Minute // the length of the silence after that
	chainTurns = 3           // of bots in a row in one room, until a person writes
	pairsKept  = 10_000      // the maximum number of stored rooms and bots; all are dropped at once
)

// Bots counts consecutive turns of bots, in memory, and ends exchanges between bots that would otherwise continue
// indefinitely, at the cost of the owner. Its two limits catch two patterns: one bot that talks fast, and several that
// talk in turn. A restart resets the counts, which allows a few more turns. The zero value is ready. It is safe for
// concurrent use.
type Bots struct {
	mu     sync.Mutex
	pairs  map[pair]*exchange
	chains map[chat.RoomID]*exchange
}

// pair is a bot in a room, whose turns are counted together.
type pair struct {
	room chat.RoomID
	bot  chat.EntityID
}

// exchange holds the counted turns, oldest first, and the end of the silence.
type exchange struct {
	turns  []time.Time
	silent time.Time
}

// Person reports that a person has written in room, which resets the count: the bots' messages may now be replies to
// them.
func (b *Bots) Person(room chat.RoomID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.chains, room)
}

// Turn reports whether bot can begin another turn in room, and counts it.
func (b *Bots) Turn(room chat.RoomID, bot chat.EntityID, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pairs == nil || len(b.pairs) >= pairsKept {
		b.pairs, b.chains = map[pair]*exchange{}, map[chat.RoomID]*exchange{}
	}
	with, chain := b.pairs[pair{room, bot}], b.chains[room]
	if with == nil {
		with = &exchange{}
		b.pairs[pair{room, bot}] = with
	}
	if chain == nil {
		chain = &exchange{}
		b.chains[room] = chain
	}
	// Both count the turn, also if one of them refuses it.
	allowed, chained := with.turn(pairTurns, pairWindow, now), chain.turn(chainTurns, math.MaxInt64, now)
	return allowed && chained
}

// turn counts one of at most most within a window; one too many begins a silence.
func (e *exchange) turn(most int, within time.Duration, now time.Time) bool {
	if now.Before(e.silent) {
		return false
	}
	for len(e.turns) > 0 && now.Sub(e.turns[0]) >= within {
		e.turns = e.turns[1:]
	}
	if len(e.turns) >= most {
		e.turns, e.silent = nil, now.Add(pairCool)
		return false
	}
	e.turns = append(e.turns, now)
	return true
}
