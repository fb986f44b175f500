// Package pacing measures how old the text is that readers see, when many answers stream at once through one bot with
// limits. It runs on a clock of its own: half an hour of a thousand chats takes seconds.
package pacing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// limit allows N requests in any window of length per.
type limit struct {
	n   int
	per time.Duration
}

// platform has one bot with many chats. It counts requests when they arrive, halfway through, and refuses what is too
// much with a wait in whole seconds. Asking during the wait is refused too, and costs nothing more: the real platforms
// are less patient with those who do.
type platform struct {
	perChat, perBot limit
	least, more     time.Duration // a request takes twice from least to least and more

	mu    sync.Mutex
	until time.Time // what comes later is not measured
	bot   account
	rand  *rand.Rand
	total tally
}

// account is what was spent lately.
type account struct {
	hits []time.Time
	held time.Time
}

// tally is what is measured, over all chats.
type tally struct {
	calls, refused, answers int
	stale                   float64         // seconds of staleness times seconds
	streaming               time.Duration   // from each answer's first character to when its last one arrives
	firsts                  []time.Duration // from when there is enough for a first text to when it arrives
	finals                  []time.Duration // from the end of an answer to when its last character arrives
}

// refusal is an error 429.
type refusal struct {
	bot   bool // all chats
	after time.Duration
}

func (r refusal) Error() string { return fmt.Sprintf("too many requests: retry after %v", r.after) }

func newPlatform(perChat, perBot limit, measured time.Duration) *platform {
	return &platform{perChat: perChat, perBot: perBot, least: 20 * time.Millisecond, more: 40 * time.Millisecond, until: time.Now().Add(measured), rand: rand.New(rand.NewPCG(1, 2))}
}

// call makes one request of c's. It shows n tokens, or none if n is 0.
func (p *platform) call(c *pacedChat, n int) error {
	there, back := p.latency(), p.latency()
	time.Sleep(there)
	err := p.arrive(c, n)
	time.Sleep(back)
	return err
}

// latency of one way.
func (p *platform) latency() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.least + time.Duration(p.rand.Int64N(int64(p.more)))
}

func (p *platform) arrive(c *pacedChat, n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	total := &p.total
	if now.After(p.until) {
		total = &tally{}
	}
	total.calls++
	wait, botWait := c.account.wait(now, p.perChat), p.bot.wait(now, p.perBot)
	if wait > 0 || botWait > 0 {
		total.refused++
		return refusal{botWait > wait, max(wait, botWait)}
	}
	c.account.spend(now, p.perChat)
	p.bot.spend(now, p.perBot)
	c.show(now, n, total)
	return nil
}

func (a *account) wait(now time.Time, l limit) time.Duration {
	if i := len(a.hits) - l.n; l.n > 0 && !now.Before(a.held) && i >= 0 {
		if free := a.hits[i].Add(l.per); free.After(now) {
			a.held = now.Add(time.Duration(math.Ceil(free.Sub(now).Seconds())) * time.Second)
		}
	}
	return a.held.Sub(now)
}

func (a *account) spend(now time.Time, l limit) {
	a.hits = append(a.hits, now)
	a.hits = a.hits[max(0, len(a.hits)-max(l.n, 1)):]
}

// pacedChat is one reader and what is written for him. The platform's lock guards it.
type pacedChat struct {
	account account
	made    []time.Time // each token of the answer
	shown   int         // tokens
	since   time.Time   // when the oldest that is not shown became that
	last    time.Time   // when something was shown, or the first token was made
	ended   time.Time
}

// begin is a new answer.
func (p *platform) begin(c *pacedChat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.made, c.shown, c.ended = nil, 0, time.Time{}
}

// make adds a token.
func (p *platform) make(c *pacedChat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if len(c.made) == c.shown {
		c.since = now
	}
	if len(c.made) == 0 {
		c.last = now
	}
	c.made = append(c.made, now)
}

func (p *platform) end(c *pacedChat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.ended = time.Now()
}

// show integrates how old the oldest token was that was not shown.
func (c *pacedChat) show(now time.Time, n int, t *tally) {
	if n <= c.shown {
		return
	}
	oldest := c.made[c.shown]
	after, before := now.Sub(oldest).Seconds(), c.since.Sub(oldest).Seconds()
	t.stale += (after*after - before*before) / 2
	t.streaming += now.Sub(c.last)
	if c.shown == 0 {
		t.firsts = append(t.firsts, max(0, now.Sub(c.made[min(enough, len(c.made))-1])))
	}
	c.shown, c.since, c.last = n, now, now
	if !c.ended.IsZero() && c.shown == len(c.made) {
		t.answers++
		t.finals = append(t.finals, now.Sub(c.ended))
	}
}
