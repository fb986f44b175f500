package stories_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/models/modelfake"
)

// SE-07: two accounts press *Take over* at the same moment, on two platforms, before two replicas. One of them talks to the visitor, and the other
// reads who does. The words of the first reach the visitor, once, and those of the other the agent, also if Redis has just gone.
func TestTwoPlatformsTakeOverAtOnce(t *testing.T) {
	t.Run("with Redis", func(t *testing.T) { takeOverAtOnce(t, false) })
	t.Run("Redis has gone", func(t *testing.T) { takeOverAtOnce(t, true) })
}

func takeOverAtOnce(t *testing.T, gone bool) {
	var worlds []connectortest.Platform
	r := startReplicas(t, 2, "supersede", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Text("The agent read: " + q.LastUser())}
	}}), func(cfg *config.Config) {
		cfg.Turns.Buttons = false
		for _, p := range platforms() {
			worlds = append(worlds, p.serve(t, cfg))
		}
	})
	ada := func(i int) connectortest.Room { return worlds[i].Direct(connectortest.Ada) }
	shown := func(i int) string { return strings.Join(connectortest.BotTexts(worlds[i], ada(i)), "\n") }
	for i, w := range worlds {
		w.Say(connectortest.Ada, ada(i), "Hi")
		r.waitUntil("a greeting", func() bool { return strings.Contains(shown(i), "The agent read") })
	}
	page := r.nodes[0]
	id := require.Value(page.Open(r.Context()))(r)
	stream := require.Value(page.Send(r.Context(), id, "k1", "/person"))(r)
	require.Value(stream.All())(r)
	for i := range worlds {
		r.waitUntil("a card", func() bool { return len(worlds[i].(buttonPlatform).Buttons(ada(i))) > 0 })
	}
	if gone {
		r.redis.Stop()
	}
	var presses sync.WaitGroup
	for i := range worlds {
		presses.Go(func() { worlds[i].(buttonPlatform).Press(connectortest.Ada, ada(i), 0) })
	}
	presses.Wait()
	r.waitUntil("one who talks, and one who does not", func() bool {
		talks, late := 0, 0
		for i := range worlds {
			if strings.Contains(shown(i), "You're talking to") {
				talks++
			} else if strings.Contains(shown(i), "has taken over.") {
				late++
			}
		}
		return talks == 1 && late == 1
	})
	for i, w := range worlds {
		w.Say(connectortest.Ada, ada(i), fmt.Sprint("Words of ", i))
	}
	winner := 0
	if !strings.Contains(shown(0), "You're talking to") {
		winner = 1
	}
	r.waitUntil("the answer of the agent", func() bool {
		return strings.Contains(shown(1-winner), fmt.Sprint("The agent read: Words of ", 1-winner))
	})
	read := ""
	r.waitUntil("the words of the person", func() bool {
		lines := require.Value(page.Reload(r.Context(), id))(r)
		read = fmt.Sprint(lines)
		return strings.Contains(read, fmt.Sprint("Words of ", winner))
	})
	time.Sleep(time.Second)
	if strings.Contains(read, fmt.Sprint("Words of ", 1-winner)) || strings.Count(read, "Words of") != 1 || strings.Contains(shown(winner), "The agent read: Words") {
		t.Errorf("the visitor reads %s, and the person %s", read, shown(winner))
	}
}

// Of two persons who press at the same moment, the second one reads who has taken over, without an option that looks chosen. So does a person
// who sends a draft after the talk.
func TestSecondTakerReadsWhoWasFaster(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w := c.Platform.(buttonPlatform)
		bob := c.Direct(connectortest.Bob)
		c.cfg.People.Staff = []config.Member{config.Member(c.Account(connectortest.Bob))}
		c.startDesk()
		c.Say(connectortest.Bob, bob, "Hello")
		c.Pass(10 * time.Second)
		c.readAll(c.send(c.newConversation(), "1", "/person"))
		c.Pass(10 * time.Second)
		w.Press(connectortest.Ada, c.ada, 0)
		w.Press(connectortest.Bob, bob, 0)
		c.Pass(10 * time.Second)
		late, winner, who := bob, c.ada, connectortest.Ada
		if strings.Contains(strings.Join(c.since(bob, 0), "\n"), "You're talking to") {
			late, winner, who = c.ada, bob, connectortest.Bob
		}
		read := c.since(late, 0)
		if last := read[len(read)-1]; !strings.Contains(last, "has taken over.") || strings.Contains(last, "→") || len(w.Buttons(late)) > 0 {
			t.Errorf("the second one reads %q, with the buttons %q", last, w.Buttons(late))
		}
		c.model.Queue(modelfake.Script{modelfake.Text("A draft")})
		c.Say(who, winner, "/person suggest")
		c.waitShown(winner, "A draft")
		c.Say(who, winner, "/person back")
		c.Pass(10 * time.Second)
		w.Press(who, winner, 0)
		c.Pass(10 * time.Second)
		if read = c.since(winner, 0); !slices.ContainsFunc(read, func(s string) bool {
			return strings.Contains(s, "A draft") && strings.Contains(s, "This question has closed.") && !strings.Contains(s, "→")
		}) {
			t.Errorf("the person reads %q", read)
		}
	})
}
