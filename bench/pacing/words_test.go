package pacing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// waits is what became of twenty answers: how long readers waited for the first text and for the last word, of which
// requests take 2 to 4 ms.
type waits struct {
	limits, round string
	tally
}

func (w waits) String() string {
	return fmt.Sprintf("%-9s %-15s first text %5d / %5d ms, last word %5d / %5d ms (p50 / p99), %d refused", w.limits, w.round,
		quantile(w.firsts, 0.5), quantile(w.firsts, 0.99), quantile(w.finals, 0.5), quantile(w.finals, 0.99), w.refused)
}

// quantile is in milliseconds.
func quantile(all []time.Duration, q float64) int64 {
	slices.Sort(all)
	return all[min(int(q*float64(len(all))), len(all)-1)].Round(time.Millisecond).Milliseconds()
}

// enforced is what a platform allows in a private chat.
var enforced = []struct {
	name            string
	perChat, perBot limit
}{
	{"off", limit{}, limit{}},
	{"on", limit{5, 5 * time.Second}, limit{botRate, time.Second}},
	{"strict 1/s", limit{1, time.Second}, limit{botRate, time.Second}},
}

// rounds are how twenty people ask one question each, within as many seconds. In the second round the gate has learned
// what there is to learn.
var rounds = []struct {
	name   string
	rate   float64 // tokens a second
	tokens int
}{{"first", 20, 40}, {"second", 20, 40}, {"three messages", 200, 1000}}

func ask(t *testing.T, i int) (all []waits) {
	synctest.Test(t, func(*testing.T) {
		e := enforced[i]
		world := newPlatform(e.perChat, e.perBot, time.Hour)
		world.least, world.more = time.Millisecond, time.Millisecond
		show := ours(world, scene{chats: 20, length: 500})
		chats := make([]pacedChat, 20)
		for _, round := range rounds {
			world.total = tally{}
			var asked sync.WaitGroup
			for i := range chats {
				asked.Go(func() {
					random := rand.New(rand.NewPCG(uint64(i), 7))
					time.Sleep(time.Duration(random.Int64N(int64(20 * time.Second))))
					think := time.Duration(random.Int64N(int64(3 * time.Second)))
					tell(world, &chats[i], think, round.tokens+random.IntN(240), round.rate, random, show)
				})
			}
			asked.Wait()
			all = append(all, waits{e.name, round.name, world.total})
			time.Sleep(20 * time.Second)
		}
	})
	return all
}

// ST-24, ST-25: with permits at hand neither the first text nor the last word waits. Where the platform allows less than it seems, each
// chat is refused once at most, none once that is known, and what is late is late by one permit.
func TestWords(t *testing.T) {
	for i, e := range enforced {
		for _, w := range ask(t, i) {
			t.Log(w)
			first, last := quantile(w.firsts, 0.99), quantile(w.finals, 0.99)
			switch {
			case e.perChat.n != 1:
				if half := quantile(w.finals, 0.5); w.refused > 0 || first > 5 || half > 5 {
					t.Errorf("limits %s, %s: the first text takes %d ms, the last word %d, %d are refused", e.name, w.round, first, half, w.refused)
				}
			case w.round == "first":
				if w.refused > len(w.firsts) {
					t.Errorf("%d are refused of %d answers", w.refused, len(w.firsts))
				}
			case w.refused > 0 || first > 1300 || last > 1300 && w.round == "second":
				t.Errorf("%s: when that is known the first text takes %d ms, the last word %d, %d are refused", w.round, first, last, w.refused)
			}
		}
	}
}
