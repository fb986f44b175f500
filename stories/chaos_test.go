package stories_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/models/modelfake"
	"parley/progressive"
)

// Whatever happens, in whatever order, keeps the invariants. PARLEY_SEEDS=N plays N stories instead of a few; a seed
// that fails is named, and fails again.
func TestChaos(t *testing.T) {
	seeds := 1
	if n, err := strconv.Atoi(os.Getenv("PARLEY_SEEDS")); err == nil {
		seeds = n
	}
	onEachSeed := func(p site) {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/%d", p.name, seed), func(t *testing.T) {
				short := func(c *config.Config) { c.Shutdown.Grace = 5 * time.Second }
				on(t, p, short, func(c *chatStory) {
					n := &nemesis{chatStory: c, luck: rand.New(rand.NewPCG(uint64(seed), 1))}
					for range 40 {
						n.step()
					}
					c.Pass(10 * time.Minute) // every hold is over
				})
			})
		}
	}
	for _, p := range sites() {
		onEachSeed(p)
	}
}

// nemesis does to a chat what comes to its mind.
type nemesis struct {
	*chatStory
	luck *rand.Rand
	said int
}

func (n *nemesis) step() {
	switch k := n.luck.IntN(20); {
	case k < 9:
		n.speak()
	case k < 10:
		n.Say(connectortest.Ada, n.ada, "/stop")
	case k < 11:
		n.Say(connectortest.Robot, n.group, "beep")
	case k < 17:
		n.Spoil(n.fault())
	case k < 18:
		n.unsure()
		n.restart(n.crash)
	case k < 19:
		n.restart(n.shutdown)
	default:
		n.Pass(time.Minute)
	}
	n.Pass(time.Duration(n.luck.IntN(9000)) * time.Millisecond)
}

// restart ends this life and begins the next, which knows of no hold: they are kept in memory only.
func (n *nemesis) restart(end func()) {
	n.ClearFaults()
	for _, q := range n.Requests() {
		n.Pass(time.Until(q.To.Add(q.Hold)))
	}
	end()
	n.start()
}

// speak sends a new question as a user.
func (n *nemesis) speak() {
	n.said++
	text := fmt.Sprintf("Question %d, please?", n.said)
	who := []connectortest.Who{connectortest.Ada, connectortest.Bob}[n.luck.IntN(2)]
	n.model.Queue(n.script())
	say := func() { n.Say(who, n.Direct(who), text) }
	if n.luck.IntN(3) == 0 {
		say = func() { n.Mention(who, n.group, text) }
	}
	if n.luck.IntN(4) == 0 {
		n.Twice(say)
	} else {
		say()
	}
}

func (n *nemesis) script() modelfake.Script {
	text := strings.Repeat(fmt.Sprintf("Answer %d goes on. ", n.said), 1+n.luck.IntN(40))
	pace := modelfake.Pace(time.Duration(n.luck.IntN(400)) * time.Millisecond)
	switch n.luck.IntN(10) {
	case 0:
		return modelfake.Script{modelfake.RateLimit(3 * time.Second)}
	case 1:
		return modelfake.Script{pace, modelfake.Text(text, modelfake.ByWord), modelfake.Cut()}
	case 2:
		return modelfake.Script{pace, modelfake.Text(strings.Repeat(text+"\n\n", 8), modelfake.ByChance(uint64(n.said)))}
	case 3:
		return modelfake.Script{modelfake.Text("Yes.")}
	}
	return modelfake.Script{pace, modelfake.Text(strings.TrimSpace(text), modelfake.ByWord)}
}

func (n *nemesis) fault() connectortest.Fault {
	f := connectortest.Fault{Op: progressive.Op(n.luck.IntN(4)), Nth: n.luck.IntN(4)}
	switch n.luck.IntN(6) {
	case 0:
		f.Hold = time.Duration(1+n.luck.IntN(40)) * time.Second
	case 1:
		f.Lost = true
	case 2:
		f.Dropped = true
	case 3:
		f.BadGateway = true
	case 4:
		f.Delay = time.Duration(n.luck.IntN(10)) * time.Second
	case 5:
		f.Mute = time.Duration(n.luck.IntN(40)) * time.Second
	}
	if f.Op == progressive.Post && f.Hold == 0 && f.Delay == 0 {
		n.unsure()
	}
	return f
}

// unsure reports whether the outcome of a create is unknown. If it can't be repeated, the message can be left over or missing.
func (n *nemesis) unsure() {
	if n.site.orphans {
		n.chatStory.orphans++
	}
}
