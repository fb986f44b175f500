package stories_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/models/modelfake"
)

// asked are two replicas on two platforms, with Ada as the owner on both.
type asked struct {
	*replicas
	worlds []connectortest.Platform
}

func startAsked(t *testing.T, choose func(modelfake.Request) modelfake.Script, change func(*config.Config, connectortest.Platform)) *asked {
	t.Helper()
	a := &asked{}
	a.replicas = startReplicas(t, 2, "supersede", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		if q.LastUser() == "Hi" {
			return modelfake.Script{modelfake.Text("Hello.")}
		}
		return choose(q)
	}}), func(cfg *config.Config) {
		cfg.Turns.Buttons = false
		for _, p := range platforms() {
			w := p.serve(t, cfg)
			change(cfg, w)
			a.worlds = append(a.worlds, w)
		}
	})
	for i, w := range a.worlds {
		w.Say(connectortest.Ada, w.Direct(connectortest.Ada), "Hi")
		a.waitShown(i, connectortest.Ada, "Hello.", 1)
	}
	return a
}

// waitShown waits until the direct chat of a user on a platform shows part n times.
func (a *asked) waitShown(i int, who connectortest.User, part string, n int) {
	a.Helper()
	a.waitUntil(part, func() bool { return a.shown(i, who, part) == n })
}

func (a *asked) shown(i int, who connectortest.User, part string) int {
	return strings.Count(strings.Join(connectortest.BotTexts(a.worlds[i], a.worlds[i].Direct(who)), "\n"), part)
}

func (a *asked) buttons(i int, who connectortest.User) []string {
	return a.worlds[i].(buttonPlatform).Buttons(a.worlds[i].Direct(who))
}

// DI-02: answers are held and sent while Redis is away, on two platforms and two replicas: Redis stops while the first waits, and comes back while the
// last does. Each is read once, and no card keeps its buttons.
func TestHeldAnswersOutliveRedis(t *testing.T) {
	a := startAsked(t, func(q modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Text("Held: " + q.LastUser())}
	}, func(cfg *config.Config, w connectortest.Platform) {
		name, _, _ := strings.Cut(w.Account(connectortest.Ada), ":")
		cfg.Access.Overrides = append(cfg.Access.Overrides, config.Override{Rooms: []config.Chat{config.Chat(name)}, Hold: true})
	})
	for round := range 4 {
		asks, decides := round%2, (round/2+round)%2
		question := fmt.Sprint("Question ", round)
		a.worlds[asks].Say(connectortest.Bob, a.worlds[asks].Direct(connectortest.Bob), question)
		for i := range a.worlds {
			a.waitShown(i, connectortest.Ada, "Held: "+question, 1)
			a.waitUntil("a card", func() bool { return len(a.buttons(i, connectortest.Ada)) > 0 })
		}
		switch round {
		case 0:
			a.redis.Stop()
		case 3:
			a.redis.Restart()
		}
		if n := a.shown(asks, connectortest.Bob, "Held: "); n != round/2 {
			t.Errorf("Bob reads %d answers before the next one is sent; want %d", n, round/2)
		}
		a.worlds[decides].(buttonPlatform).Press(connectortest.Ada, a.worlds[decides].Direct(connectortest.Ada), 0)
		a.waitShown(asks, connectortest.Bob, "Held: "+question, 1)
		for i := range a.worlds {
			a.waitUntil("no buttons", func() bool { return len(a.buttons(i, connectortest.Ada)) == 0 })
		}
	}
}

// DI-02: forms are asked and filled in while Redis is away. It stops between two fields of the first form, and comes back between those of the last. The
// model reads each once.
func TestFormsOutliveRedis(t *testing.T) {
	a := startAsked(t, func(q modelfake.Request) modelfake.Script {
		if last := q.Messages[len(q.Messages)-1]; last.Role == "tool" {
			return modelfake.Script{modelfake.Text("Booked: " + last.Content)}
		}
		return modelfake.Script{modelfake.ToolCall("c", "ASK_FORM", `{"question":"A table?","fields":[{"name":"guests","title":"Guests","kind":"integer"},`+
			`{"name":"room","title":"Where","kind":"choice","options":["Inside","Garden"]}]}`)}
	}, func(*config.Config, connectortest.Platform) {})
	for round := range 4 {
		i := round % 2
		room, w := a.worlds[i].Direct(connectortest.Ada), a.worlds[i]
		w.Say(connectortest.Ada, room, "A table, please")
		a.waitShown(i, connectortest.Ada, "Guests", round/2+1)
		w.Say(connectortest.Ada, room, fmt.Sprint(round+10))
		a.waitUntil("the second field", func() bool { return slices.Contains(a.buttons(i, connectortest.Ada), "Garden") })
		switch round {
		case 0:
			a.redis.Stop()
		case 3:
			a.redis.Restart()
		}
		w.(buttonPlatform).Press(connectortest.Ada, room, 1)
		a.waitShown(i, connectortest.Ada, "Booked: ", round/2+1)
		if got := connectortest.BotTexts(w, room); len(a.buttons(i, connectortest.Ada)) > 0 || !strings.Contains(got[len(got)-1], fmt.Sprintf(`"guests":"%d","room":"Garden"`, round+10)) {
			t.Errorf("shown is %q, with the buttons %q", got, a.buttons(i, connectortest.Ada))
		}
	}
}
