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
	onEachSeed := func(p platform) {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/%d", p.name, seed), func(t *testing.T) {
				short := func(c *config.Config) { c.Shutdown = 5 * time.Second }
				onPlatform(t, p, short, func(c *chatHarness) {
					n := &chaos{chatHarness: c, luck: rand.New(rand.NewPCG(uint64(seed), 1))}
					for range 40 {
						n.step()
					}
					c.Pass(10 * time.Minute) // every hold is over
				})
			})
		}
	}
	for _, p := range platforms() {
		onEachSeed(p)
	}
}

// chaos does to a chat what comes to its mind.
type chaos struct {
	*chatHarness
	luck *rand.Rand
	said int
}

func (n *chaos) step() {
	switch k := n.luck.IntN(20); {
	case k < 9:
		n.ask()
	case k < 10:
		n.Say(connectortest.Ada, n.ada, "/stop")
	case k < 11:
		n.Say(connectortest.Robot, n.group, "beep")
	case k < 17:
		n.InjectFault(n.fault())
	case k < 18:
		n.isOutcomeUnknown()
		n.restart(n.crash)
	case k < 19:
		n.restart(n.shutdown)
	default:
		n.Pass(time.Minute)
	}
	n.Pass(time.Duration(n.luck.IntN(9000)) * time.Millisecond)
}

// restart ends this life and begins the next, which knows of no hold: they are kept in memory only.
func (n *chaos) restart(end func()) {
	n.ClearFaults()
	for _, q := range n.Requests() {
		n.Pass(time.Until(q.To.Add(q.Hold)))
	}
	end()
	n.start()
}

// ask sends a new question as a user.
func (n *chaos) ask() {
	n.said++
	text := fmt.Sprintf("Question %d, please?", n.said)
	who := []connectortest.User{connectortest.Ada, connectortest.Bob}[n.luck.IntN(2)]
	n.model.Queue(n.script())
	say := func() { n.Say(who, n.Direct(who), text) }
	if n.luck.IntN(3) == 0 {
		say = func() { n.Mention(who, n.group, text) }
	}
	if n.luck.IntN(4) == 0 {
		n.DeliverTwice(say)
	} else {
		say()
	}
}

func (n *chaos) script() modelfake.Script {
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

func (n *chaos) fault() connectortest.Fault {
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
		n.isOutcomeUnknown()
	}
	return f
}

// isOutcomeUnknown reports whether the outcome of a create is unknown. If it can't be repeated, the message can be left over or missing.
func (n *chaos) isOutcomeUnknown() {
	if n.platform.noLookup {
		n.chatHarness.allowedOrphans++
	}
}
