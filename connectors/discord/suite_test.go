package discord_test

import (
	"testing"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord"
	"parley/progressive"
	"parley/sim"
)

func TestSuite(t *testing.T) {
	connectortest.Suite{New: func(t *testing.T, net *sim.Net) connectortest.Platform {
		w, err := discordworld.New()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "discord.test:80")
		if err != nil {
			t.Fatal(err)
		}
		connectortest.Serve(t, l, w.Handler())
		return platform{w, net}
	}}.Run(t)
}

type platform struct {
	*discordworld.World
	net *sim.Net
}

func (p platform) Connect() connectortest.Bot {
	return discord.New(discord.Options{Token: p.Fake.Token(), APIURL: "http://discord.test", Dial: p.net.Dial})
}

func (p platform) Budgets() map[string]progressive.Budget { return discord.Budgets() }
