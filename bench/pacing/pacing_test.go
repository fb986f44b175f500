package pacing

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/config/configtest"
	"parley/connectors/telegram"
	"parley/core/answer"
	"parley/internal/require"
	"parley/progressive"
)

var update = flag.Bool("update", false, "measure everything and write docs/engineering/pacing.md and docs/engineering/pacing.svg")

const (
	pagePath = "../../docs/engineering/pacing.md"

	token  = "word" // every token
	tokens = 2400   // of an answer, give or take a tenth
	enough = 6      // tokens for a first text
)

// scene is so many chats of one kind that stream all the time.
type scene struct {
	chats   int
	group   bool
	rate    float64 // tokens a second
	answers int     // for so many times the length of one it is measured
	length  int     // of a message, in tokens; 0 is no limit
}

func (s scene) String() string {
	kind := "private chat"
	if s.group {
		kind = "group"
	}
	if s.chats > 1 {
		kind += "s"
	}
	return fmt.Sprintf("%d %s", s.chats, kind)
}

const (
	botRate = 30                          // a second
	slowest = 60 * time.Millisecond       // one way
	private = 5500 * time.Millisecond / 4 // one of five permits is left to the last word
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
func (s scene) scopes(c *pacedChat) []progressive.Scope {
	kind := "private"
	if s.group {
		kind = "group"
	}
	return []progressive.Scope{progressive.Scope(fmt.Sprintf("telegram.%s/%p", kind, c)), "telegram.bot/1"}
}

var budgets = new(configtest.Defaults[telegram.Config](telegram.Section())).Budgets()

func (s scene) budget(name progressive.Scope) progressive.Budget {
	kind, _, _ := strings.Cut(string(name), "/")
	return budgets[kind]
}

// wait is how long all chats take to make a request each, if they share the bot's limit: then finals can meet.
func (s scene) wait() time.Duration {
	if s.chats < 100 {
		return 0
	}
	return time.Duration(s.chats) * time.Second / botRate / 10
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

func (r result) callsPerAnswer() float64 { return float64(r.calls) / float64(r.tally.answers) }

func (r result) String() string {
	return fmt.Sprintf("%-18s %-18s %6d refused, stale for %6.2f s = %5.2f times the floor, last words within %6.2f s, %5.1f requests for an answer", r.scene,
		r.policy, r.refused, r.staleness().Seconds(), r.overFloor(), r.lastFinal().Seconds(), r.callsPerAnswer())
}

func (r result) lastFinal() time.Duration { return slices.Max(r.finals) }

// run measures one policy in one scene.
func run(t *testing.T, s scene, p policy) (r result) {
	synctest.Test(t, func(*testing.T) {
		perChat, perBot := s.limits()
		length := time.Duration(float64(tokens) / s.rate * float64(time.Second))
		world := newPlatform(perChat, perBot, time.Duration(s.answers)*length)
		show := p.open(world, s)
		var chats sync.WaitGroup
		for i := range s.chats {
			chats.Go(func() {
				random := rand.New(rand.NewPCG(uint64(i), 7))
				time.Sleep(time.Duration(random.Int64N(int64(2 * s.floor()))))
				c := &pacedChat{}
				tell(world, c, 0, 1+random.IntN(tokens), s.rate, random, show) // as if we came in the middle
				for time.Now().Before(world.until) {
					tell(world, c, 0, tokens*9/10+random.IntN(tokens/5), s.rate, random, show)
				}
			})
		}
		chats.Wait()
		r = result{s, p.name, world.total}
	})
	return r
}

// tell streams one answer, of a model that thinks first.
func tell(p *platform, c *pacedChat, think time.Duration, length int, rate float64, random *rand.Rand, show func(*pacedChat, *pacedAnswer)) {
	a := &pacedAnswer{over: make(chan struct{})}
	p.begin(c)
	var showing sync.WaitGroup
	showing.Go(func() { show(c, a) })
	time.Sleep(think)
	for range length {
		time.Sleep(time.Duration((0.5 + random.Float64()) / rate * float64(time.Second)))
		p.make(c)
		a.mu.Lock()
		a.tokens++
		a.mu.Unlock()
		a.Apply(answer.Change{Kind: answer.Text, Text: token})
	}
	p.end(c)
	close(a.over)
	a.End(answer.Outcome{Status: answer.Completed})
	showing.Wait()
}

var scenes = []scene{
	{1, false, 40, 6, 0}, {10, false, 40, 6, 0}, {100, false, 40, 6, 0}, {1000, false, 3, 2, 0},
	{1, true, 40, 6, 0}, {10, true, 40, 6, 0}, {100, true, 40, 6, 0},
}

// The goals: nothing is ever refused, what is shown is hardly older than it must be, last words come soon, and all that
// with no more requests than those make who do not plan, unless their text is more than twice as old (ST-01, TR-02).
func TestPacing(t *testing.T) {
	var all []result
	for _, s := range scenes {
		if !*update {
			switch {
			case s.chats > 100:
				continue
			case s.chats == 100:
				s.answers = 1
			default:
				s.answers = 4
			}
		}
		us := run(t, s, policies[0])
		all = append(all, us)
		t.Log(us)
		if us.refused > 0 {
			t.Errorf("%s: %d of %d requests were refused; want none", s, us.refused, us.calls)
		}
		if us.overFloor() > 1.25 {
			t.Errorf("%s: what is shown is %.2f times as old as it must be", s, us.overFloor())
		}
		if most := 2*2*slowest + s.wait(); us.lastFinal() > most { // behind an edit on its way
			t.Errorf("%s: a last word took %v, more than %v", s, us.lastFinal(), most)
		}
		if s.chats == 100 && s.group && !*update {
			continue // the naive ones meet the bot's limit as in private chats
		}
		for _, p := range policies[1:] {
			naive := run(t, s, p)
			all = append(all, naive)
			t.Log(naive)
			if us.callsPerAnswer() > naive.callsPerAnswer() && naive.staleness() < 2*us.staleness() {
				t.Errorf("%s: %.1f requests for an answer, %q makes %.1f", s, us.callsPerAnswer(), p.name, naive.callsPerAnswer())
			}
		}
	}
	if *update {
		var words []waits
		for i := range enforced {
			words = append(words, ask(t, i)...)
		}
		old, err := os.ReadFile(pagePath)
		require.NoError(t, err)
		write(t, pagePath, page(t, string(old), all, words))
		write(t, "../../docs/engineering/pacing.svg", plot(all))
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}
