package pacing

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/telegram"
	"parley/core"
	"parley/progressive"
)

var update = flag.Bool("update", false, "measure everything and write docs/pacing.md and docs/pacing.svg")

const (
	token   = "word" // every token
	answers = 8      // for so many times the length of one it is measured
)

// scene is so many chats of one kind that stream all the time.
type scene struct {
	chats  int
	group  bool
	tokens int     // of one answer
	rate   float64 // tokens a second
}

func (s scene) String() string {
	if s.group {
		return fmt.Sprintf("%d groups", s.chats)
	}
	return fmt.Sprintf("%d private", s.chats)
}

const (
	botRate = 30 // a second
	private = 1100 * time.Millisecond
	group   = 3500 * time.Millisecond
)

// interval of one chat's edits.
func (s scene) interval() time.Duration {
	if s.group {
		return group
	}
	return private
}

// floor is the mean staleness of a schedule without any waste: half of the time between two updates of a chat.
func (s scene) floor() time.Duration {
	return max(s.interval(), time.Duration(s.chats)*time.Second/botRate) / 2
}

// limits are what the platform enforces.
func (s scene) limits() (perChat, perBot limit) {
	perChat, perBot = limit{5, 5 * time.Second}, limit{botRate, time.Second}
	if s.group {
		perChat = limit{20, time.Minute}
	}
	return perChat, perBot
}

// scopes and budget are those of the connector.
func (s scene) scopes(c *chat, op progressive.Op) []progressive.Scope {
	kind := "private"
	if s.group {
		kind = "group"
	}
	scopes := []progressive.Scope{progressive.Scope(fmt.Sprintf("telegram.%s/%p", kind, c))}
	if op == progressive.Edit {
		scopes = append(scopes, progressive.Scope(fmt.Sprintf("telegram.%s-edits/%p", kind, c)))
	}
	return append(scopes, "telegram.bot/1")
}

func (s scene) budget(name progressive.Scope) progressive.Budget {
	kind, _, _ := strings.Cut(string(name), "/")
	return telegram.Budgets()[kind]
}

// result is what came out.
type result struct {
	scene
	policy string
	tally
}

func (r result) staleness() time.Duration {
	return time.Duration(r.stale / r.streaming.Seconds() * float64(time.Second))
}

func (r result) overFloor() float64 { return r.staleness().Seconds() / r.floor().Seconds() }

func (r result) callsPerAnswer() float64 { return float64(r.calls) / float64(r.answers) }

func (r result) lastFinal() time.Duration { return slices.Max(r.finals) }

// run measures one policy in one scene.
func run(t *testing.T, s scene, p policy) (r result) {
	synctest.Test(t, func(*testing.T) {
		perChat, perBot := s.limits()
		length := time.Duration(float64(s.tokens) / s.rate * float64(time.Second))
		world := newPlatform(perChat, perBot, answers*length)
		show := p.open(world, s)
		var chats sync.WaitGroup
		for i := range s.chats {
			chats.Go(func() {
				random := rand.New(rand.NewPCG(uint64(i), 7))
				time.Sleep(time.Duration(random.Int64N(int64(2 * s.floor()))))
				c := &chat{}
				tell(world, c, 1+random.IntN(s.tokens), s.rate, random, show) // as if we came in the middle
				for time.Now().Before(world.until) {
					tell(world, c, s.tokens*9/10+random.IntN(s.tokens/5), s.rate, random, show)
				}
			})
		}
		chats.Wait()
		r = result{s, p.name, world.total}
	})
	return r
}

// tell streams one answer.
func tell(p *platform, c *chat, tokens int, rate float64, random *rand.Rand, show func(*chat, *answer)) {
	a := &answer{over: make(chan struct{})}
	p.begin(c)
	var showing sync.WaitGroup
	showing.Go(func() { show(c, a) })
	for range tokens {
		time.Sleep(time.Duration((0.5 + random.Float64()) / rate * float64(time.Second)))
		p.make(c)
		a.mu.Lock()
		a.tokens++
		a.mu.Unlock()
		a.Apply(core.Change{Kind: core.Text, Text: token})
	}
	p.end(c)
	close(a.over)
	a.End(core.Outcome{Status: core.Completed})
	showing.Wait()
}

func TestPacing(t *testing.T) {
	scenes := []scene{
		{1, false, 900, 40}, {10, false, 900, 40}, {100, false, 900, 40},
		{1, true, 900, 40}, {10, true, 900, 40}, {100, true, 900, 40},
	}
	if *update {
		scenes = slices.Insert(scenes, 3, scene{1000, false, 900, 3})
	}
	for _, s := range scenes {
		var all []result
		for _, p := range policies {
			begun := time.Now()
			r := run(t, s, p)
			all = append(all, r)
			t.Logf("%-12s %-18s refused %6d  staleness %6.2fs = %.2f × %.2fs  finals ≤ %.2fs  calls/answer %.1f  (%v)", s, p.name, r.refused,
				r.staleness().Seconds(), r.overFloor(), s.floor().Seconds(), r.lastFinal().Seconds(), r.callsPerAnswer(), time.Since(begun))
		}
	}
}
