package telegramfake

import (
	"math"
	"time"
)

// Limit allows N requests in any window of length Per.
type Limit struct {
	N   int
	Per time.Duration
}

// Flood is the set of budgets. One budget of a chat covers sends, edits, deletes and chat actions, and all its
// topics (TR-02). No limits means no budget.
type Flood struct {
	Private []Limit       // each private chat
	Group   []Limit       // each group, supergroup or channel
	Bot     []Limit       // the bot over all chats
	MaxHold time.Duration // the longest hold that hammering leads to; 0 is 4 h
}

// DefaultFlood follows what is published (TR-01): about 1/s in a private chat with short bursts, 20/min in a group,
// 30/s for the bot.
func DefaultFlood() Flood {
	return Flood{
		Private: []Limit{{N: 5, Per: 5 * time.Second}},
		Group:   []Limit{{N: 20, Per: time.Minute}},
		Bot:     []Limit{{N: 30, Per: time.Second}},
	}
}

// SetFlood changes the budgets from now on; what was spent stays spent.
func (s *Server) SetFlood(f Flood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flood = f
}

// bucket is what a chat or the bot has spent.
type bucket struct {
	hits  []time.Time
	until time.Time     // refused before
	hold  time.Duration // length of the current hold
}

func (b *bucket) held(now time.Time) bool { return now.Before(b.until) }

func (b *bucket) holdFor(now time.Time, d time.Duration) {
	b.hold, b.until = d, now.Add(d)
}

// refuse returns how long to wait: 0 if there is room. Asking during a hold doubles it.
func (b *bucket) refuse(now time.Time, limits []Limit, most time.Duration) time.Duration {
	if b.held(now) {
		b.holdFor(now, max(b.until.Sub(now), min(2*b.hold, most)))
		return b.hold
	}
	var wait time.Duration
	for _, l := range limits {
		if i := len(b.hits) - l.N; l.N > 0 && i >= 0 {
			wait = max(wait, b.hits[i].Add(l.Per).Sub(now))
		}
	}
	if wait > 0 {
		b.holdFor(now, wholeSeconds(wait))
		return b.hold
	}
	return 0
}

// spend counts a request and forgets those that no window reaches.
func (b *bucket) spend(now time.Time, limits []Limit) {
	most := 0
	for _, l := range limits {
		most = max(most, l.N)
	}
	b.hits = append(b.hits, now)
	b.hits = b.hits[max(0, len(b.hits)-most):]
}

// charge spends the budgets of ch and the bot, or returns the seconds to wait. A refused request spends nothing.
func (s *Server) charge(ch *chat) int {
	now, most := time.Now(), s.flood.MaxHold
	if most == 0 {
		most = 4 * time.Hour
	}
	limits := s.flood.Group
	if ch.Type == private {
		limits = s.flood.Private
	}
	wait := max(ch.budget.refuse(now, limits, most), s.botBudget.refuse(now, s.flood.Bot, most))
	if wait > 0 {
		return int(wholeSeconds(wait) / time.Second)
	}
	ch.budget.spend(now, limits)
	s.botBudget.spend(now, s.flood.Bot)
	return 0
}

// held reports whether a request to ch comes before the end of a hold (invariant I6).
func (s *Server) held(ch *chat) bool {
	now := time.Now()
	return ch.budget.held(now) || s.botBudget.held(now)
}

func wholeSeconds(d time.Duration) time.Duration {
	return max(time.Second, time.Duration(math.Ceil(d.Seconds()))*time.Second)
}

// SetSlowMode makes the bot wait between two messages in c, as users do. Edits are free of that.
func (s *Server) SetSlowMode(c Chat, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.must(c).slow = delay
}

// slowed returns how long slow mode forbids a message of the bot, and notes that it sends one otherwise.
func (c *chat) slowed(now time.Time) time.Duration {
	if wait := c.lastPost.Add(c.slow).Sub(now); c.slow > 0 && wait > 0 {
		return wait
	}
	c.lastPost = now
	return 0
}
